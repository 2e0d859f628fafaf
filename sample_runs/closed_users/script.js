import http from "k6/http";
import { sleep } from "k6";

export const options = {
  vus: 15,
  duration: "45s",
  thresholds: {
    http_req_duration: ["p(95)<200"],
    http_req_failed: ["rate<0.01"],
  },
};

export default function () {
  const id = Math.floor(Math.random() * 5000);
  http.get(`${__ENV.BASE}/products/${id}`, { tags: { name: "GET /products/:id" } });
  sleep(0.1);
}
