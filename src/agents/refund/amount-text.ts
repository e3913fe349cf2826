/** Minor units as a customer reads them: 4990 EUR is "49.90 EUR", 4990 JPY is "4990 JPY". */
import type { Json } from "../../core/json.ts";

/** null: not an amount that can be written without guessing. Digits only, no division. */
export function amountText(minorUnits: Json | undefined, currency: Json | undefined) {
  if (typeof minorUnits !== "number" || !Number.isSafeInteger(minorUnits) || minorUnits < 0) {
    return null;
  }
  if (typeof currency !== "string" || !/^[A-Z]{3}$/.test(currency)) return null;
  const places = placesOf(currency);
  const digits = String(minorUnits).padStart(places + 1, "0");
  const point = digits.length - places;
  const number = places === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
  return `${number} ${currency}`;
}

/** ISO 4217 through the platform's own table; an unknown code counts as two places there. */
function placesOf(currency: string): number {
  const format = new Intl.NumberFormat("en", { style: "currency", currency });
  return format.resolvedOptions().maximumFractionDigits ?? 2;
}
