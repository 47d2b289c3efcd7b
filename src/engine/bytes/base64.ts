/** Bytes as text in base64. */
export function base64(bytes: Uint8Array): string {
  // In pieces, because a call takes a limited number of arguments.
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
