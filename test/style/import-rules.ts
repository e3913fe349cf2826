/**
 * The rank table of the tree as rules over a graph of imports. Pure: the test gives it the real
 * files once, and planted faults for every rule.
 */
import { posix } from "node:path";
import { maskSource } from "../support/mask-source.ts";

/** File → what it imports: repo-relative paths of our files, packages as they are written. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

const RANKS: Readonly<Record<string, number>> = {
  workers: 5,
  scripts: 5,
  "src/cli": 5,
  "src/app": 4,
  "src/step": 3,
  "src/ingest": 3,
  "src/outbox": 3,
  "src/http": 3,
  "src/cases": 3,
  "src/agents": 2,
  "src/policy": 1,
  "src/tools": 1,
  "src/providers": 1,
  "src/store": 1,
  "src/queue": 1,
  "src/telemetry": 1,
  "src/core": 0,
};
const ADAPTER_PREFIX = /^(redis|bullmq|openai|scripted|cedar|pino)-/;
const WIRING = "src/app/wire.ts";
const CORE_PACKAGES = /^(zod|canonicalize|@noble\/hashes(\/.*)?)$/;

const STATIC_IMPORT = /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*(['"])([^'"\n]+)\1/gm;
const BARE_IMPORT = /^\s*import\s*(['"])([^'"\n]+)\1/gm;
const DYNAMIC_IMPORT = /\bimport\s*\(\s*(['"])([^'"\n]+)\1/g;

export function importsOf(file: string, source: string): string[] {
  const code = maskSource(source, ["comment"]);
  const found = [STATIC_IMPORT, BARE_IMPORT, DYNAMIC_IMPORT].flatMap((pattern) =>
    [...code.matchAll(pattern)].map((match) => match[2] ?? ""),
  );
  return found.map((name) => (name.startsWith(".") ? posix.join(posix.dirname(file), name) : name));
}

export function graphOf(sources: ReadonlyMap<string, string>): ImportGraph {
  return new Map([...sources].map(([file, source]) => [file, importsOf(file, source)]));
}

/** One sentence for each breach; none for a tree in order. */
export function checkImports(graph: ImportGraph): string[] {
  const edges = [...graph].flatMap(([from, targets]) =>
    targets.map((to) => ({ from, to, isOurs: /^(src|workers|scripts|test|\.\.)(\/|$)/.test(to) })),
  );
  return [
    ...[...graph.keys()].filter((file) => rankOf(file) === undefined).map(tellUnranked),
    ...edges.flatMap(({ from, to, isOurs }) =>
      isOurs ? [...checkRank(from, to), ...checkAdapter(from, to)] : checkPackage(from, to),
    ),
    ...checkCycles(graph),
  ];
}

function areaOf(file: string): string {
  const [top = "", second = ""] = file.split("/");
  return top === "src" ? `${top}/${second}` : top;
}

function rankOf(file: string): number | undefined {
  return RANKS[areaOf(file)];
}

function tellUnranked(file: string): string {
  return `${file}: ${areaOf(file)} has no rank; give it one in the table`;
}

function checkRank(from: string, to: string): string[] {
  const [own, other] = [rankOf(from), rankOf(to)];
  if (own === undefined) return [];
  if (other === undefined) return [`${from} imports ${to}, which lies outside the ranked tree`];
  if (other > own) return [`${from} (rank ${own}) imports ${to} (rank ${other}): upwards`];
  const areSiblings = own === 1 && other === 1 && areaOf(from) !== areaOf(to);
  return areSiblings ? [`${from} imports ${to}: siblings of rank 1 never see each other`] : [];
}

function checkAdapter(from: string, to: string): string[] {
  const technology = technologyOf(to);
  if (technology === undefined || from === WIRING) return [];
  const isFamily = technologyOf(from) === technology && posix.dirname(from) === posix.dirname(to);
  return isFamily
    ? []
    : [`${from} imports the adapter ${to}: only ${WIRING} and its own ${technology}- family may`];
}

function technologyOf(file: string): string | undefined {
  return file.startsWith("src/") ? ADAPTER_PREFIX.exec(posix.basename(file))?.[1] : undefined;
}

function checkPackage(from: string, name: string): string[] {
  if (rankOf(from) !== 0 || CORE_PACKAGES.test(name)) return [];
  return [`${from} imports ${name}: the core runs in a browser on zod, canonicalize and hashes`];
}

/** Depth first; each cycle is told once, at the edge that closes it. */
function checkCycles(graph: ImportGraph): string[] {
  const done = new Set<string>();
  const walk = (file: string, above: readonly string[]): string[] => {
    const start = above.indexOf(file);
    if (start >= 0) return [`import cycle: ${[...above.slice(start), file].join(" → ")}`];
    if (done.has(file)) return [];
    const found = (graph.get(file) ?? [])
      .filter((to) => graph.has(to))
      .flatMap((to) => walk(to, [...above, file]));
    done.add(file);
    return found;
  };
  return [...graph.keys()].flatMap((file) => walk(file, []));
}
