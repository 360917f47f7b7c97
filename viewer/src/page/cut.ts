// SPDX-License-Identifier: BSD-3-Clause
// Tooltips for texts that are cut off: while the pointer is on one, its tooltip is the whole text. Elements with a tooltip keep it.
import { useEffect } from "preact/hooks";

function isCut(element: Element): boolean {
  const style = getComputedStyle(element);
  // the scrollWidth of a menu is not that of its text
  if (element instanceof HTMLSelectElement) return element.offsetWidth >= Number.parseFloat(style.maxWidth);
  return style.textOverflow === "ellipsis" && element.scrollWidth > element.clientWidth;
}

/** The innermost element with a cut-off text around another element; of a shortened name, the element of the whole name. */
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
    let titled: Element | undefined;
    const look = ({ target }: Event): void => {
      titled?.removeAttribute("title");
      titled = target instanceof Element && !target.closest("[title]") ? cutAround(target) : undefined;
      titled?.setAttribute("title", textOf(titled));
    };
    document.addEventListener("pointerover", look);
    return () => document.removeEventListener("pointerover", look);
  }, []);
}
