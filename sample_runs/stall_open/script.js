import http from "k6/http";

export const options = {
  scenarios: {
    steady: {
      executor: "constant-arrival-rate",
      rate: 100,
      timeUnit: "1s",
      duration: "65s",
      preAllocatedVUs: 700,
      maxVUs: 800,
    },
  },
  thresholds: {
    http_req_failed: ["rate<0.01"],
    dropped_iterations: ["count<5"],
  },
  summaryTrendStats: ["avg", "min", "med", "max", "p(90)", "p(95)", "p(99)", "p(99.9)"],
};

export default function () {
  http.get(`${__ENV.BASE}/items`, { tags: { name: "GET /items" } });
}
