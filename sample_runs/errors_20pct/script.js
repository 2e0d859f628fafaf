import http from "k6/http";

export const options = {
  scenarios: {
    api: {
      executor: "constant-arrival-rate",
      rate: 100,
      timeUnit: "1s",
      duration: "61s",
      preAllocatedVUs: 60,
      maxVUs: 120,
    },
  },
  thresholds: {
    "http_req_duration{expected_response:true}": ["p(99)<500"],
    http_req_failed: ["rate<0.3"],
    dropped_iterations: ["count<5"],
  },
};

export default function () {
  http.get(`${__ENV.BASE}/orders`, { tags: { name: "GET /orders" }, timeout: "900ms" });
}
