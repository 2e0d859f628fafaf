import http from "k6/http";
import { sleep } from "k6";

export const options = {
  scenarios: {
    steady: { executor: "constant-vus", vus: 40, duration: "65s" },
  },
  thresholds: {
    http_req_failed: ["rate<0.01"],
  },
  summaryTrendStats: ["avg", "min", "med", "max", "p(90)", "p(95)", "p(99)", "p(99.9)"],
};

export default function () {
  http.get(`${__ENV.BASE}/items`, { tags: { name: "GET /items" } });
  sleep(0.385);
}
