/**
 * Which entries of a case's `events` fire at a moment, and what each of them is. Every entry fires
 * once; entries that are equal in kind and status trigger fire one after the other, one a moment.
 */
import type { Happening } from "../core/event.ts";
import { jsonEqual } from "../core/json.ts";
import { ticketSchema, type Ticket } from "../core/ticket.ts";
import type { Case } from "./case.ts";
import type { CaseEvent, CRASH_POINTS } from "./case-events.ts";

export type CrashPointName = (typeof CRASH_POINTS)[number];

export interface Moment {
  readonly step: number;
  readonly point: CrashPointName;
  /** The run's status as saved; null at points before the save. */
  readonly status: string | null;
}

export interface DueEvent {
  readonly index: number;
  readonly event: CaseEvent;
}

/** The unfired entries that are due now, in the order written. */
export function dueEvents(
  events: readonly CaseEvent[],
  fired: ReadonlySet<number>,
  moment: Moment,
): DueEvent[] {
  const due: DueEvent[] = [];
  for (const [index, event] of events.entries()) {
    if (fired.has(index) || !isDue(event, moment)) continue;
    const isTwin = due.some((other) => isSameTrigger(other.event, event));
    if (!isTwin) due.push({ index, event });
  }
  return due;
}

/** Whether a step that dies at this point comes to it once more; what is on disk is not redone. */
export function isReachedAgain(point: CrashPointName): boolean {
  return point !== "after_journal" && point !== "after_save" && point !== "after_enqueue";
}

function isDue(event: CaseEvent, moment: Moment): boolean {
  if (event.at !== undefined) {
    return event.at.step === moment.step && event.at.point === moment.point;
  }
  if (event.after === undefined || moment.point !== "after_save") return false;
  return "step" in event.after
    ? event.after.step === moment.step
    : event.after.status === moment.status;
}

/**
 * Two replies to the same wait: the second belongs to the next wait. Two kills at the same point:
 * the second is for the worker that comes there next.
 */
function isSameTrigger(a: CaseEvent, b: CaseEvent): boolean {
  if (a.kill !== undefined && b.kill !== undefined) return jsonEqual(a.at ?? null, b.at ?? null);
  if (b.after === undefined || "step" in b.after) return false;
  return jsonEqual(a.after ?? null, b.after) && kindOfEvent(a) === kindOfEvent(b);
}

/** Entries still unfired whose status came: they are told to the ended run, which refuses them. */
export function leftovers(
  events: readonly CaseEvent[],
  fired: ReadonlySet<number>,
  statuses: ReadonlySet<string>,
): DueEvent[] {
  return events.flatMap((event, index) => {
    const { after } = event;
    if (fired.has(index) || after === undefined || !("status" in after)) return [];
    return statuses.has(after.status) ? [{ index, event }] : [];
  });
}

const KINDS = [
  "userReply",
  "approve",
  "reject",
  "expire",
  "cancel",
  "ticketRevision",
  "humanReply",
  "deliverAgain",
  "tamper",
  "kill",
  "freezeMs",
] as const;

function kindOfEvent(event: CaseEvent): (typeof KINDS)[number] | null {
  return KINDS.find((kind) => event[kind] !== undefined) ?? null;
}

function eventIdOf(index: number): string {
  return `e-${index + 1}`;
}

/** What the run is told by an entry; null: the entry is about the worker or the stored state. */
export function happeningOf(
  file: Case,
  { index, event }: DueEvent,
  ticket: Ticket,
): Happening | null {
  const id = eventIdOf(index);
  if (event.userReply !== undefined) return { kind: "user_reply", id, text: event.userReply };
  if (event.cancel !== undefined) return { kind: "cancel", id, why: event.cancel.why };
  if (event.humanReply !== undefined) {
    const by = event.humanReply["by"];
    return { kind: "human_reply", id, by: typeof by === "string" ? by : "agent" };
  }
  if (event.ticketRevision !== undefined) {
    const changed = { revision: ticket.revision + 1, ...event.ticketRevision };
    return { kind: "ticket_revision", id, ticket: ticketSchema.parse({ ...ticket, ...changed }) };
  }
  if (event.deliverAgain === undefined) return null;
  const wanted = event.deliverAgain.eventId;
  const again = file.events.findIndex((_e, i) => eventIdOf(i) === wanted);
  const original = file.events[again];
  return original === undefined || again === index
    ? null
    : happeningOf(file, { index: again, event: original }, ticket);
}

/** What a person decides by an entry, and whether it is about an earlier approval of the run. */
export function decisionOf(event: CaseEvent) {
  const given = event.approve ?? event.reject ?? event.expire;
  if (given === undefined) return null;
  const said = given as {
    readonly by?: unknown;
    readonly why?: unknown;
    readonly approval?: unknown;
  };
  const decision: "approved" | "rejected" | "expired" =
    event.approve !== undefined ? "approved" : event.reject !== undefined ? "rejected" : "expired";
  return {
    decision,
    by: typeof said.by === "string" ? said.by : "operator",
    note: typeof said.why === "string" ? said.why : null,
    isPrevious: (event.approval ?? said.approval) === "previous",
  };
}
