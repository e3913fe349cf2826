/** Cutting text for the model's eyes and for people's. */

/** Half of a surrogate pair is no text that JSON or a server takes: a mark stands in its place. */
export function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, "\uFFFD");
}

/** Cuts by code point, so that no half of a surrogate pair is left, and says that it cut. */
export function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const end = /[\uD800-\uDBFF]/.test(text.charAt(maxChars - 1)) ? maxChars - 1 : maxChars;
  return `${text.slice(0, end)}… [cut: ${text.length - end} more characters]`;
}
