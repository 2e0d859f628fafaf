import http from "k6/http";

export const options = {
  scenarios: {
    sale_peak: {
      executor: "ramping-arrival-rate",
      startRate: 20,
      timeUnit: "1s",
      preAllocatedVUs: 10,
      maxVUs: 30,
      stages: [
        { target: 80, duration: "8s" },
        { target: 160, duration: "8s" },
        { target: 160, duration: "30s" },
      ],
    },
  },
  thresholds: {
    http_req_duration: ["p(95)<300", "p(99)<800"],
    http_req_failed: ["rate<0.01"],
    dropped_iterations: ["count<5"],
  },
};

export default function () {
  const id = Math.floor(Math.random() * 5000);
  http.get(`${__ENV.BASE}/products/${id}`, { tags: { name: "GET /products/:id" } });
}
