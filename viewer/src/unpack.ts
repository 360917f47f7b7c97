// SPDX-License-Identifier: BSD-3-Clause
// Starts a document that contains its style and script compressed, each in a block that names its element. The document's content security
// policy has the hashes of both.
import { inflate } from "./data/inflate";

async function unpack() {
  for (const block of document.querySelectorAll<HTMLElement>("script[data-element]")) {
    const element = document.createElement(block.dataset["element"]!);
    element.textContent = await inflate(block.textContent ?? "").text();
    block.replaceWith(element);
  }
}

unpack().catch((problem: unknown) => {
  document.getElementById("app")!.textContent = `This browser cannot show the result: ${String(problem)}`;
});
