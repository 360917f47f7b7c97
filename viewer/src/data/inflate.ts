// SPDX-License-Identifier: BSD-3-Clause

/** Inflates data of the document: compressed, in base64 (element() of python/spartito/view/packing.py). */
export function inflate(base64: string): Response {
  const text = atob(base64.trim());
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")));
}
