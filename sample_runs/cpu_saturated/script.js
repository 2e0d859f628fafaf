import http from "k6/http";
import { sha256 } from "k6/crypto";

export const options = {
  scenarios: {
    heavy: {
      executor: "constant-arrival-rate",
      rate: 300,
      timeUnit: "1s",
      duration: "30s",
      preAllocatedVUs: 60,
      maxVUs: 150,
    },
  },
  thresholds: {
    http_req_failed: ["rate<0.01"],
  },
};

// The work is the generator's own, not the server's.
export default function () {
  let sum = 0;
  for (let i = 0; i < 60000; i++) {
    sum = (sum * 31 + i) % 1000003;
  }
  for (let i = 0; i < 20; i++) {
    sha256(`x${sum}${i}`, "hex");
  }
  http.get(`${__ENV.BASE}/products/1`, { tags: { name: "GET /products/:id" } });
}
