/** What the benchmark's processes agree on. */

export const STEPS = 6;
export const PADDING = "x".repeat(950);
export const FLAVOURS = ["pawl", "floor", "bare"] as const;
export type Flavour = (typeof FLAVOURS)[number];

export interface BenchJob {
  readonly run: string;
  readonly step: number;
}

export const BENCH_AGENT = {
  name: "bench",
  version: "1",
  instructions: "Read the pages.",
  limits: { steps: STEPS },
} as const;
