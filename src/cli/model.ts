/** `pawl model read`: recorded exchanges with a model server, told as the adapter reads them. */
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { systemClock } from "../app/clock.ts";
import { readConfig } from "../app/config.ts";
import { priceReader } from "../app/model-price.ts";
import { NORMAL_FINISHES, REFUSAL_FINISHES, type FaultKind, type Usage } from "../core/decision.ts";
import { PawlError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { costOf } from "../core/price.ts";
import type { WireCall, WireReply } from "../providers/wire-reply.ts";
import { parseExchanges, readExchange, type ReadExchange } from "../providers/recorded-exchange.ts";
import { EXIT, print, printJson } from "./command.ts";
import { moneyText, oneLine, plain } from "./table.ts";

type Kind = "calls" | "text" | "refusal" | "truncated" | "error";

/** One exchange; `disposition` is what the loop does with it. */
interface ModelLine {
  readonly file: string;
  readonly index: number;
  readonly api: "responses" | "chat";
  readonly kind: Kind;
  /** Arguments that are JSON as JSON, any other as their text. */
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: Json }[];
  readonly usage: Usage | null;
  readonly moneyMicroUsd: number | null;
  /** ok: a reply; else what is done about the error. */
  readonly disposition: "ok" | FaultKind;
}

export function addModelCommand(program: Command): void {
  program
    .command("model")
    .description("what comes over a model's wire")
    .command("read")
    .description("read recorded exchanges as the adapter would: one line each")
    .argument("<files...>", "files with recorded interactions")
    .option("--json", "one JSON line an exchange")
    .action(async (files: readonly string[], flags: { readonly json?: boolean }) => {
      process.exitCode = await read(files, flags.json === true);
    });
}

async function read(files: readonly string[], asJson: boolean): Promise<number> {
  const now = systemClock.now();
  const priceOf = priceReader(readConfig());
  for (const file of files) {
    const interactions = parseExchanges(await textOf(file));
    for (const [index, one] of interactions.entries()) {
      const exchange = readExchange(one, index, now);
      if (exchange === null) continue;
      const line = await lineOf(file, exchange, priceOf);
      if (asJson) printJson(line);
      else print(textLine(line, exchange));
    }
  }
  return EXIT.done;
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new PawlError("PAWL_EXCHANGE_INVALID", `cannot read ${file}`, { path: file, cause });
  }
}

type ReadPrice = ReturnType<typeof priceReader>;

async function lineOf(
  file: string,
  exchange: ReadExchange,
  priceOf: ReadPrice,
): Promise<ModelLine> {
  const { index, api, read: found } = exchange;
  if (!found.ok) {
    const moneyMicroUsd = await priced(found.usage, exchange.model, { tier: null, priceOf });
    const { disposition } = found.fault;
    return {
      file,
      index,
      api,
      kind: "error",
      calls: [],
      usage: found.usage,
      moneyMicroUsd,
      disposition,
    };
  }
  const { reply } = found;
  const model = reply.model ?? exchange.model;
  const kind = kindOf(reply);
  return {
    file,
    index,
    api,
    kind,
    // What did not end normally is never executed, so it has no calls.
    calls: kind === "calls" ? reply.calls.map(callOf) : [],
    usage: reply.usage,
    moneyMicroUsd: await priced(reply.usage, model, { tier: reply.serviceTier, priceOf }),
    disposition: kind === "refusal" ? "content" : "ok",
  };
}

function kindOf({ finish, calls }: WireReply): Kind {
  if (REFUSAL_FINISHES.includes(finish)) return "refusal";
  if (!NORMAL_FINISHES.includes(finish)) return "truncated";
  return calls.length > 0 ? "calls" : "text";
}

function callOf({ id, name, args }: WireCall) {
  try {
    return { id, name, args: JSON.parse(args) as Json };
  } catch {
    return { id, name, args };
  }
}

/** Null: no usage, or a price that nobody knows. */
async function priced(
  usage: Usage | null,
  model: string | null,
  { tier, priceOf }: { readonly tier: string | null; readonly priceOf: ReadPrice },
): Promise<number | null> {
  if (usage === null || model === null) return null;
  const answer = await priceOf(model, tier);
  return answer.known ? costOf(usage, answer.price) : null;
}

const SHOWN_CHARS = 120;

function textLine(line: ModelLine, { read: found }: ReadExchange): string {
  const { file, index, api, kind, calls, usage, moneyMicroUsd, disposition } = line;
  const said = found.ok
    ? calls.map((call) => `${call.name} ${JSON.stringify(call.args)}`).join("; ") ||
      (found.reply.text ?? found.reply.finish)
    : found.fault.message;
  const spent =
    usage === null
      ? "no usage"
      : `${usage.input} + ${usage.output} tokens (${usage.cached} cached, ${usage.reasoning} reasoning)`;
  const money = moneyMicroUsd === null ? "price unknown" : moneyText(moneyMicroUsd);
  const head = `${plain(file)} ${index}  ${api}  ${kind} (${disposition})`;
  return `${head}  ${spent}, ${money}  ${oneLine(said, SHOWN_CHARS)}`;
}
