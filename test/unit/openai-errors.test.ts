import { describe, expect, test } from "vitest";
import { classify, retryAfterMs } from "../../src/providers/wire-errors.ts";

const NOW = Date.parse("2026-12-04T00:00:00Z");

function faultOf(status: number | null, error: object | null = null, headers = {}) {
  return classify({ status, headers, body: error === null ? "<html>" : { error } }, NOW);
}

describe("classify", () => {
  test.each([
    [400, { code: "decimal_below_min_value" }, "final"],
    [401, { code: "invalid_api_key" }, "final"],
    [403, {}, "final"],
    [404, { code: "model_not_found" }, "final"],
    [422, {}, "final"],
    [408, {}, "retry"],
    [409, {}, "retry"],
    [500, {}, "retry"],
    [502, null, "retry"],
    [503, { code: "overloaded" }, "retry"],
    [529, { type: "overloaded_error" }, "retry"],
    [429, { code: "rate_limit_exceeded" }, "rate_limit"],
    [429, { code: 429 }, "rate_limit"],
    [429, null, "rate_limit"],
    [429, { code: "insufficient_quota" }, "final"],
    [429, { type: "insufficient_quota" }, "final"],
    [400, { code: "content_filter" }, "content"],
    [400, { code: "content_policy_violation" }, "content"],
    [400, { code: "invalid_prompt" }, "content"],
    [null, null, "retry"],
  ])("%s with %j: %s", (status, error, disposition) => {
    expect(faultOf(status, error)).toMatchObject({ disposition });
  });

  test.each([
    [{ code: "server_error" }, "retry"],
    [{ code: "rate_limit_exceeded" }, "rate_limit"],
    [{ code: 429 }, "rate_limit"],
    [{ code: "503" }, "retry"],
    [{ code: 401 }, "final"],
    [{ code: "content_filter" }, "content"],
    [null, "retry"],
  ])("an error inside a 200, %j: %s", (error, disposition) => {
    expect(faultOf(200, error)).toMatchObject({ disposition });
  });

  test.each([
    [429, "refused"],
    [503, "refused"],
    [400, "refused"],
    [502, "unknown"],
    [504, "unknown"],
    [200, "unknown"],
    [null, "unknown"],
  ])("after %s its fate is %s", (status, fate) => {
    expect(faultOf(status, {})).toMatchObject({ fate });
  });

  test("the message names status and code, and never the server's words", () => {
    const error = { code: "bad_thing", type: "x y", message: "your prompt: my secret" };
    expect(faultOf(400, error).message).toBe("status 400 bad_thing");
    expect(faultOf(400, { code: "my secret words" }).message).toBe("status 400");
  });

  test("a delay is taken where waiting can help, and not where it cannot", () => {
    const headers = { "retry-after": "2" };
    expect(faultOf(429, {}, headers).retryAfterMs).toBe(2_000);
    expect(faultOf(503, {}, headers).retryAfterMs).toBe(2_000);
    expect(faultOf(401, {}, headers).retryAfterMs).toBeNull();
  });
});

describe("retryAfterMs", () => {
  test.each([
    [{ "retry-after": "2" }, 2_000],
    [{ "retry-after": " 0 " }, 0],
    [{ "retry-after": "1.5" }, 1_500],
    [{ "retry-after-ms": "250" }, 250],
    [{ "retry-after-ms": "250.2", "retry-after": "9" }, 251],
    [{ "retry-after-ms": "soon", "retry-after": "9" }, 9_000],
    [{ "retry-after": "Fri, 04 Dec 2026 00:00:30 GMT" }, 30_000],
    [{ "retry-after": "Fri, 04 Dec 2026 00:00:00 GMT" }, null],
    [{ "retry-after": "Thu, 03 Dec 2026 00:00:00 GMT" }, null],
    [{ "retry-after": "soon 5" }, null],
    [{ "retry-after": "-3" }, null],
    [{ "retry-after": "NaN" }, null],
    [{ "retry-after": "Infinity" }, null],
    [{ "retry-after": "" }, null],
    [{}, null],
  ])("%j is %s ms", (headers: Record<string, string>, ms) => {
    expect(retryAfterMs(headers, NOW)).toBe(ms);
  });
});
