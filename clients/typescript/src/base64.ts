/** Decodes Base64, of which signatures and leases consist. */

/** The bytes of a text in Base64. Throws if it is none. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
