// SPDX-License-Identifier: BSD-3-Clause
// Texts for which there is no room: as long as the pointer is on one, all of it is its tooltip. Those that say it by themselves keep theirs.
import { useEffect } from "preact/hooks";

function isCut(element: Element): boolean {
  const style = getComputedStyle(element);
  if (element instanceof HTMLSelectElement) return element.offsetWidth >= Number.parseFloat(style.maxWidth); // its text tells no width
  return style.textOverflow === "ellipsis" && element.scrollWidth > element.clientWidth;
}

/** The innermost element around another whose text is cut; of a name that has lost its middle, the whole name. */
function cutAround(element: Element): Element | undefined {
  for (let at: Element | null = element; at; at = at.parentElement) {
    const name = at.closest(".name");
    if (isCut(name?.firstElementChild ?? at)) return name ?? at;
  }
  return undefined;
}

function textOf(element: Element): string {
  return element instanceof HTMLSelectElement ? (element.selectedOptions[0]?.text ?? "") : (element.textContent ?? "");
}

export function useCutTexts(): void {
  useEffect(() => {
    let told: Element | undefined;
    const look = ({ target }: Event): void => {
      told?.removeAttribute("title");
      told = target instanceof Element && !target.closest("[title]") ? cutAround(target) : undefined;
      told?.setAttribute("title", textOf(told));
    };
    document.addEventListener("pointerover", look);
    return () => document.removeEventListener("pointerover", look);
  }, []);
}
