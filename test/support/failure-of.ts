/** Runs a property; undefined when it holds, else its seed, smallest example and the fault. */
import fc from "fast-check";

export function failureOf<T>(property: fc.IProperty<T>): string | undefined {
  return told(fc.check(property));
}

export async function failureOfAsync<T>(
  property: fc.IAsyncProperty<T>,
  numRuns: number,
): Promise<string | undefined> {
  return told(await fc.check(property, { numRuns }));
}

function told<T>(details: fc.RunDetails<T>): string | undefined {
  const report = fc.defaultReportMessage(details);
  if (report === undefined) return undefined;
  const { errorInstance: error } = details;
  return `${report}\n${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
