/**
 * Random lives of a run: what the model decides, how the tools behave, where the worker dies, what
 * people send, and which jobs come twice. The plan is plain data, so fast-check can shrink it. To
 * live is to play it on the real step pipeline and store, checking the books after every write.
 */
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import type { AgentPack } from "../../src/agents/agent.ts";
import { canonicalJson } from "../../src/core/call-key.ts";
import { NO_USAGE, type Usage } from "../../src/core/decision.ts";
import { PawlError } from "../../src/core/errors.ts";
import { parseEvent, type Event, type Happening } from "../../src/core/event.ts";
import type { Json } from "../../src/core/json.ts";
import { costOf, type Price } from "../../src/core/price.ts";
import { reduce, replay } from "../../src/core/reduce.ts";
import { parseRunState, type Limits, type RunState } from "../../src/core/run-state.ts";
import { isTerminal } from "../../src/core/stop.ts";
import { acceptTicket, parseTicket } from "../../src/ingest/accept-ticket.ts";
import { ProviderFault, type ModelReply, type Provider } from "../../src/providers/provider.ts";
import type { StepJob } from "../../src/queue/step-queue.ts";
import { runStep } from "../../src/step/step.ts";
import type { StepDeps } from "../../src/step/work.ts";
import type { Backbone } from "../../src/app/wire.ts";
import type { RunStore } from "../../src/store/run-store.ts";
import { TransientToolError } from "../../src/tools/tool.ts";
import { orderDomain, type Books } from "./order-agent.ts";
import { reply } from "./model.ts";

const DECISIONS = [
  "get_order",
  "get_other_order",
  "search_kb",
  "add_note",
  "set_status",
  "repeat",
  "unknown_tool",
  "near_miss",
  "bad_args",
  "raw_args",
  "no_expectation",
  "wrong_expectation",
  "two_reads",
  "read_and_write",
  "terminal_and_read",
  "two_terminals",
  "text",
  "cut",
  "refusal",
  "fault",
  "answer",
  "answer_bad_claim",
  "answer_bad_args",
  "ask",
  "handoff",
  "handoff_guess",
] as const;
type Decision = (typeof DECISIONS)[number];

/** After one of these the run usually goes on: most of a life is made of them, or it is short. */
const WORKING: readonly Decision[] = [
  "get_order",
  "get_other_order",
  "search_kb",
  "add_note",
  "set_status",
  "two_reads",
  "read_and_write",
  "wrong_expectation",
  "raw_args",
  "ask",
];

const TOOL_MOODS = [
  "works",
  "fails",
  "transient",
  "done_then_timeout",
  "not_done_then_timeout",
  "not_json",
] as const;

const PEOPLE = ["user_reply", "ticket_revision", "human_reply", "cancel", "nonsense"] as const;

export interface Plan {
  readonly decisions: readonly Decision[];
  readonly moods: readonly (typeof TOOL_MOODS)[number][];
  /** Which of the reached points (counted over the whole life) kill the worker. */
  readonly deaths: readonly number[];
  /** At which of the reached points something is posted, so in the middle of steps too. */
  readonly posts: readonly { readonly at: number; readonly kind: (typeof PEOPLE)[number] }[];
  /** Which jobs two workers take at once, as after a lock that ran out. */
  readonly twins: readonly number[];
  /** After which jobs the same or an earlier job comes again. */
  readonly echoes: readonly { readonly after: number; readonly back: number }[];
  readonly limits: Partial<Limits>;
  readonly nudges: number;
  readonly counted: boolean;
  readonly isUsageMissing: boolean;
  /** What becomes of the requests that the plan lets fail, in order. */
  readonly fates: readonly (typeof FATES)[number][];
  /** How much of what is reserved each request really uses, in percent, in turn. */
  readonly usage: readonly number[];
}

const FATES = ["refused", "reported", "unknown"] as const;

const mostly = <T>(usual: T, others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, fc.constantFrom(...others));

export const planArbitrary: fc.Arbitrary<Plan> = fc.record({
  decisions: fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...WORKING) },
      { weight: 1, arbitrary: fc.constantFrom(...DECISIONS) },
    ),
    { maxLength: 12, size: "max" },
  ),
  moods: fc.array(mostly<(typeof TOOL_MOODS)[number]>("works", TOOL_MOODS), { maxLength: 8 }),
  deaths: fc.uniqueArray(fc.nat(70), { maxLength: 6 }),
  posts: fc.array(fc.record({ at: fc.nat(60), kind: fc.constantFrom(...PEOPLE) }), {
    maxLength: 4,
  }),
  twins: fc.uniqueArray(fc.nat(12), { maxLength: 3 }),
  echoes: fc.array(fc.record({ after: fc.nat(12), back: fc.nat(2) }), { maxLength: 4 }),
  limits: fc.record({
    steps: mostly(9, [0, 1, 3, 6]),
    tokens: mostly<number | null>(null, [0, 500, 3_000]),
    moneyMicroUsd: mostly<number | null>(null, [0, 1_000, 4_000, 20_000]),
    stepsWithoutProgress: fc.constantFrom(1, 2, 9),
    refusedInARow: fc.constantFrom(1, 3, null),
    providerRetries: fc.constantFrom(0, 1, 3),
  }),
  nudges: fc.nat(2),
  counted: fc.boolean(),
  isUsageMissing: fc.boolean(),
  fates: fc.array(fc.constantFrom(...FATES), { minLength: 1, maxLength: 4 }),
  usage: fc.array(fc.nat(100), { minLength: 1, maxLength: 5 }),
});

class Death extends Error {}

/** Far above what any plan can need: each step may die, be echoed and be woken. */
const MOST_JOBS = 80;

/** One request as the provider booked it: what it cost, whatever became of its reply. */
export interface Billed {
  /** In the reply's text or the fault's message, so that a journal shows what it knows of. */
  readonly mark: string;
  readonly tokens: number;
  readonly moneyMicroUsd: number;
}

export interface Life {
  readonly agent: AgentPack;
  readonly billed: readonly Billed[];
  readonly state: RunState;
  readonly events: readonly Event[];
  readonly books: Books;
  /** Decisions that a model gave, by step. */
  readonly decidedBy: ReadonlyMap<number, number>;
  /** Deaths between the model's reply and its journal, by step. */
  readonly lostAt: ReadonlyMap<number, number>;
  readonly jobs: number;
}

/** Long enough to park the run, in ms. */
const LONG_RETRY_MS = 5_000;

/** Plays a plan to its end; throws as soon as a promise of the journal is broken. */
export async function live(
  plan: Plan,
  { store, ledger }: Pick<Backbone, "store" | "ledger">,
): Promise<Life> {
  const { agent, books } = orderDomain({ nudges: plan.nudges });
  const watched = watch(store);
  const counters = { reached: 0, jobs: 0 };
  const decidedBy = new Map<number, number>();
  const lostAt = new Map<number, number>();
  const billed: Billed[] = [];
  books.before = moodsOf(plan, books);
  const ticket = parseTicket({ id: "T-1", body: "Where is my order?" });
  const accept = { store, now: Date.now, newId: randomUUID };
  const runId = await acceptTicket(accept, { agent, ticket, limits: plan.limits });
  // ms by which waits for a retry have moved the clock on.
  let ahead = 0;
  const deps: StepDeps = {
    store: watched,
    ledger,
    addJob: () => Promise.resolve(),
    addTimer: () => Promise.resolve(),
    resolve: () => Promise.resolve({ agent, provider: providerOf(plan, { decidedBy, billed }) }),
    now: () => Date.now() + ahead,
    random: () => 0,
    log: { step: () => undefined, fault: throwFault },
    async reach(point, job) {
      const at = counters.reached;
      counters.reached += 1;
      for (const [i, post] of plan.posts.entries()) {
        if (post.at === at) await postTo(store, runId, post.kind, i);
      }
      if (!plan.deaths.includes(at)) return;
      if (point === "after_decide") count(lostAt, job.step);
      throw new Death();
    },
  };

  let state = await readState(store, runId);
  while (!isTerminal(state.status)) {
    const step = state.step;
    const isTwin = plan.twins.includes(counters.jobs);
    const both = [work(deps, { runId, step }), ...(isTwin ? [work(deps, { runId, step })] : [])];
    await Promise.all(both);
    for (const echo of plan.echoes) {
      if (echo.after === counters.jobs)
        await work(deps, { runId, step: Math.max(1, step - echo.back) });
    }
    counters.jobs += 1;
    if (counters.jobs > MOST_JOBS) throw new Error(`not ended after ${MOST_JOBS} jobs`);
    state = await readState(store, runId);
    // Nobody will say more to a run that waits: the last word is ours.
    const run = await store.read(runId);
    if (state.waiting?.for === "retry") ahead += LONG_RETRY_MS;
    else if (state.status === "waiting" && run?.inbox === 0)
      await postTo(store, runId, "cancel", 99);
  }
  await expectFinal(deps, runId, state);
  const events = (await store.events(runId)).map(parseEvent);
  return { agent, state, events, books, billed, decidedBy, lostAt, jobs: counters.jobs };
}

function throwFault(_job: StepJob, error: unknown): never {
  throw error instanceof Error ? error : new Error(String(error));
}

async function work(deps: StepDeps, job: StepJob): Promise<void> {
  try {
    await runStep(deps, job, new AbortController().signal);
  } catch (error) {
    // The queue brings the job of a worker that was overtaken again.
    const isOvertaken = error instanceof PawlError && error.code === "PAWL_STEP_CONFLICT";
    if (!(error instanceof Death) && !isOvertaken) throw error;
  }
}

/** A terminal status is final: every job again and every message again change nothing. */
async function expectFinal(deps: StepDeps, runId: string, ended: RunState): Promise<void> {
  for (let step = 1; step <= ended.step + 1; step += 1) await work(deps, { runId, step });
  for (const kind of PEOPLE) await postTo(deps.store, runId, kind, 100);
  await work(deps, { runId, step: ended.step });
  same("the state after the end", await readState(deps.store, runId), ended);
}

/** After every write the stored journal gives the stored snapshot; the step's folds on it. */
function watch(store: RunStore): RunStore {
  return {
    ...store,
    async save(fence, change) {
      const written = await store.save(fence, change);
      if (written === "applied") {
        const events = (await store.events(fence.runId)).map(parseEvent);
        same("replay of the journal", replay(events), await readState(store, fence.runId));
      }
      return written;
    },
    async journal(fence, events, move) {
      const written = await store.journal(fence, events, move);
      await foldsOn(store, fence.runId);
      return written;
    },
    async intend(fence, events, intent) {
      const written = await store.intend(fence, events, intent);
      await foldsOn(store, fence.runId);
      return written;
    },
  };
}

async function foldsOn(store: RunStore, runId: string): Promise<void> {
  const run = await store.read(runId);
  if (run === null) return;
  const { limits, spent, reserved } = run.journal
    .map(parseEvent)
    .reduce(reduce, parseRunState(run.json));
  for (const of of ["tokens", "moneyMicroUsd"] as const) {
    const used = spent[of] + (reserved?.[of] ?? 0);
    if (reserved !== null && used > (limits[of] ?? Infinity)) {
      throw new Error(`${of}: ${used} spent and reserved of ${limits[of]}`);
    }
  }
}

function same(what: string, a: RunState, b: RunState): void {
  const [left, right] = [canonicalJson(a as Json), canonicalJson(b as Json)];
  if (left !== right) throw new Error(`${what} differs:\n${left}\n${right}`);
}

async function readState(store: RunStore, runId: string): Promise<RunState> {
  const run = await store.read(runId);
  if (run === null || run.parked) throw new Error("the run is gone or parked");
  return parseRunState(run.json);
}

function count(counts: Map<number, number>, key: number): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

async function postTo(
  store: RunStore,
  runId: string,
  kind: Plan["posts"][number]["kind"],
  n: number,
): Promise<void> {
  // Two posts share an id now and then, as webhooks do.
  const id = `h${n % 3}`;
  const { ticket } = await readState(store, runId);
  const happenings: Record<typeof kind, Happening> = {
    user_reply: { kind: "user_reply", id, text: `It is A-${n}.` },
    ticket_revision: { kind: "ticket_revision", id, ticket: { ...ticket, revision: n + 1 } },
    human_reply: { kind: "human_reply", id, by: "u-1" },
    cancel: { kind: "cancel", id: `c${n}`, why: "enough" },
    nonsense: { kind: "dance" } as unknown as Happening,
  };
  await store.post(runId, happenings[kind]);
}

function moodsOf(plan: Plan, books: Books): Books["before"] {
  let run = 0;
  return (handlerRun) => {
    const mood = plan.moods[run] ?? "works";
    run += 1;
    const isDone = mood === "done_then_timeout" && handlerRun.key !== null;
    if (isDone && !books.effects.has(handlerRun.key)) books.effects.set(handlerRun.key, handlerRun);
    switch (mood) {
      case "works":
        return Promise.resolve();
      case "fails":
        return Promise.reject(new Error("no"));
      case "transient":
        return Promise.reject(new TransientToolError("unavailable"));
      case "not_json":
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- it happens
        return Promise.reject({ n: 10n });
      case "done_then_timeout":
      case "not_done_then_timeout":
        return Promise.reject(new TransientToolError("timeout"));
    }
  };
}

const INPUT_TOKENS = 100;

const PRICE: Price = {
  inputMicroUsdPerMTok: 1_000_000,
  cachedMicroUsdPerMTok: 100_000,
  cacheWriteMicroUsdPerMTok: 2_000_000,
  outputMicroUsdPerMTok: 3_000_000,
};

function providerOf(
  plan: Plan,
  { decidedBy, billed }: { readonly decidedBy: Map<number, number>; readonly billed: Billed[] },
): Provider {
  const failed = new Map<number, number>();
  const price = plan.counted ? PRICE : null;
  /** Books a request that the server worked on. */
  const bill = (outputCap: number): Billed & { readonly usage: Usage } => {
    const percent = plan.usage[billed.length % plan.usage.length] ?? 0;
    const input = Math.ceil((INPUT_TOKENS * (percent + 1)) / 101);
    const cached = Math.floor((input * percent) / 200);
    const output = Math.floor((outputCap * percent) / 100);
    const usage = { ...NO_USAGE, input, cached, cacheWrite: input - cached, output };
    const moneyMicroUsd = costOf(usage, price);
    const entry = { mark: `#${billed.length}.`, tokens: input + output, moneyMicroUsd };
    billed.push(entry);
    return { ...entry, usage };
  };
  return {
    model: "random",
    price,
    countInput: () => ({ tokens: plan.counted ? INPUT_TOKENS : 0, isMetered: plan.counted }),
    decide({ turn, step, tools, outputCap }) {
      const wanted = plan.decisions[turn] ?? "answer";
      const faults = failed.get(turn) ?? 0;
      if (wanted === "fault" && faults < 2) {
        failed.set(turn, faults + 1);
        const retryAfterMs = turn % 2 === 0 ? 1 : LONG_RETRY_MS;
        const fate = plan.fates[(turn + faults) % plan.fates.length] ?? "refused";
        if (fate === "refused")
          return Promise.reject(new ProviderFault("503", "retry", { retryAfterMs }));
        const { usage, mark } = bill(outputCap);
        const told = fate === "reported" ? { fate, usage } : { fate };
        return Promise.reject(
          new ProviderFault(`failed ${mark}`, "retry", { fate: told, retryAfterMs }),
        );
      }
      count(decidedBy, step);
      const isOffered = tools.some((tool) => !tool.isTerminal);
      // A model may ignore what it was offered.
      const made = replyFor(wanted, turn, isOffered);
      const { usage, mark } = bill(outputCap);
      return Promise.resolve({
        ...made,
        text: `${made.text ?? ""} ${mark}`,
        usage: plan.isUsageMissing ? null : plan.counted ? usage : NO_USAGE,
      });
    },
  };
}

function replyFor(wanted: Decision, turn: number, isOffered: boolean): ModelReply {
  const order = { orderId: "A-1" };
  const note = { orderId: "A-1", value: `note ${turn % 3}` };
  const answer: [string, Json] = ["answer_user", { message: "Done." }];
  const [get] = reply(["get_order", order]).calls;
  const only = (call: object): ModelReply => ({
    ...reply(),
    calls: [{ ...get, ...call } as ModelReply["calls"][number]],
  });
  switch (wanted) {
    case "get_order":
    case "repeat":
      return reply(["get_order", order]);
    case "get_other_order":
      return reply(["get_order", { orderId: isOffered ? " a-2" : "A-404" }]);
    case "search_kb":
      return reply(["search_kb", { q: `q${turn}` }]);
    case "add_note":
      return reply(["add_note", note]);
    case "set_status":
      return reply(["set_status", { orderId: "A-1", value: "closed" }]);
    case "unknown_tool":
      return reply(["no_such_tool", order]);
    case "near_miss":
      return reply([turn % 2 === 0 ? "constructor" : "get_ordr", order]);
    case "bad_args":
      return reply(["get_order", { orderId: 7 }]);
    case "raw_args":
      return only({ args: { text: turn % 2 === 0 ? '{"orderId": A1}' : ' {"orderId":"A-1"} ' } });
    case "no_expectation":
      return only({ expected: null });
    case "wrong_expectation":
      return only({
        expected: {
          about: order,
          fields: [{ pointer: "/status", check: "equals", value: "lost" }],
        },
      });
    case "two_reads":
      return reply(["get_order", order], ["search_kb", { q: `q${turn}` }]);
    case "read_and_write":
      return reply(["search_kb", { q: `q${turn}` }], ["add_note", note], ["add_note", note]);
    case "terminal_and_read":
      return reply(["get_order", order], answer);
    case "two_terminals":
      return reply(answer, answer);
    case "text":
      return { ...reply(), text: "I will look.", finish: "stop" };
    case "cut":
      return { ...reply(["get_order", order]), finish: "length" };
    case "refusal":
      return { ...reply(), finish: "content_filter" };
    case "fault":
    case "answer":
      return reply(answer);
    case "answer_bad_claim":
      return reply(["answer_user", { message: "You get 500.", claims: [{ fact: "nope" }] }]);
    case "answer_bad_args":
      return reply(["answer_user", { text: "Done." }]);
    case "ask":
      return reply(["ask_clarification", { question: "Which one?" }]);
    case "handoff":
      return reply(["request_handoff", { summary: "Please look." }]);
    case "handoff_guess":
      return reply([
        "request_handoff",
        { summary: "It was probably lost.", customerMessage: "A person will answer." },
      ]);
  }
}
