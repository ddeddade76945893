import { DurableObject } from "cloudflare:workers";

export class Session extends DurableObject {}
export class RateLimiter extends DurableObject {}

export default {
  fetch(): Response {
    return new Response("not built yet", { status: 503 });
  },
};
