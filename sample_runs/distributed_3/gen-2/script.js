import http from "k6/http";

export const options = {
  scenarios: {
    sale: {
      executor: "constant-arrival-rate",
      rate: 105,
      timeUnit: "1s",
      duration: "62s",
      preAllocatedVUs: 30,
      maxVUs: 90,
    },
  },
  thresholds: {
    http_req_duration: ["p(99)<500"],
    http_req_failed: ["rate<0.01"],
    dropped_iterations: ["count<3"],
  },
};

export default function () {
  const id = Math.floor(Math.random() * 5000);
  http.get(`${__ENV.BASE}/products/${id}`, { tags: { name: "GET /products/:id" } });
}
