import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/app/config.ts";
import { PawlError } from "../../src/core/errors.ts";

function faultOf(env: Record<string, string>): PawlError {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof PawlError) return error;
    throw error;
  }
  throw new Error("no fault");
}

describe("readConfig", () => {
  test("an empty environment gives the defaults", () => {
    expect(readConfig({})).toMatchObject({
      PAWL_PREFIX: "{pawl}",
      PAWL_CONCURRENCY: 50,
      PAWL_PORT: 8_080,
    });
  });

  test("what is set is read, an empty text is not set", () => {
    const env = { PAWL_CONCURRENCY: "7", PAWL_PREFIX: "", REDIS_URL: "rediss://h:1" };
    expect(readConfig(env)).toMatchObject({
      PAWL_CONCURRENCY: 7,
      PAWL_PREFIX: "{pawl}",
      REDIS_URL: "rediss://h:1",
    });
  });

  test.each([
    ["PAWL_CONCURENCY", "PAWL_CONCURRENCY"],
    ["PAWL_LOGLEVEL", "PAWL_LOG_LEVEL"],
    ["PAWL_PREFX", "PAWL_PREFIX"],
    ["PAWL_PORTS", "PAWL_PORT"],
  ])("%s is refused with the nearest name, %s", (name, nearest) => {
    const fault = faultOf({ [name]: "my secret" });
    expect(fault).toMatchObject({ code: "PAWL_CONFIG_UNKNOWN_NAME", path: name });
    expect(fault.message).toBe(`unknown ${name}; did you mean ${nearest}?`);
  });

  test("names of other programs are left alone", () => {
    expect(() => readConfig({ PATH: "/bin", PAWLS: "1", pawl_prefix: "x" })).not.toThrow();
  });

  test.each([
    ["REDIS_URL", "secret-host:6379"],
    ["PAWL_PREFIX", "secret"],
    ["PAWL_PREFIX", "{a}:secret"],
    ["PAWL_CONCURRENCY", "0"],
    ["PAWL_CONCURRENCY", "1001"],
    ["PAWL_CONCURRENCY", "1.5"],
    ["PAWL_CONCURRENCY", "secret"],
    ["PAWL_LOG_LEVEL", "secret"],
    ["PAWL_API", "secret"],
    ["PAWL_PORT", "70000"],
  ])("%s=%s is refused by name, and the value is not repeated", (name, value) => {
    const fault = faultOf({ [name]: value });
    expect(fault).toMatchObject({ code: "PAWL_CONFIG_INVALID", path: name, disposition: "stop" });
    expect(fault.message.startsWith(`${name}: `)).toBe(true);
    expect(JSON.stringify(fault) + fault.message).not.toContain("secret");
  });
});
