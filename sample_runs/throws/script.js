import http from "k6/http";

export const options = {
  scenarios: {
    broken: {
      executor: "constant-arrival-rate",
      rate: 50,
      timeUnit: "1s",
      duration: "25s",
      preAllocatedVUs: 10,
    },
  },
  thresholds: {
    http_req_failed: ["rate<0.01"],
    dropped_iterations: ["count<2"],
  },
};

// `login` is defined nowhere, so every iteration ends here, counted by k6 as complete.
export default function () {
  const token = login.token;
  http.get(`${__ENV.BASE}/orders?token=${token}`);
}
