/** Runs a property; undefined when it holds, else the report with its seed and smallest example. */
import fc from "fast-check";

export function failureOf<T>(property: fc.IProperty<T>): string | undefined {
  return fc.defaultReportMessage(fc.check(property));
}

export async function failureOfAsync<T>(
  property: fc.IAsyncProperty<T>,
  numRuns: number,
): Promise<string | undefined> {
  return fc.asyncDefaultReportMessage(await fc.check(property, { numRuns }));
}
