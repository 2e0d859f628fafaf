import http from "k6/http";
import exec from "k6/execution";
import { Counter } from "k6/metrics";

const offered = new Counter("offered_items");

export const options = {
  scenarios: {
    browse: {
      executor: "constant-arrival-rate",
      rate: 30,
      timeUnit: "1s",
      duration: "40s",
      preAllocatedVUs: 30,
      maxVUs: 60,
    },
  },
  thresholds: {
    http_req_failed: ["rate<0.01"],
    dropped_iterations: ["count<1"],
  },
};

// No URL twice and no name tag: nine new time series a request. And the second way to get there:
// a counter of our own with an id in a tag, one new series each time.
export default function () {
  const basket = exec.scenario.iterationInTest;
  http.get(`${__ENV.BASE}/baskets/${basket}`);
  for (let item = 10; item < 85; item++) {
    offered.add(1, { item: `${basket}-${item}` });
  }
}
