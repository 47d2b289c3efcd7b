import type { ReactNode } from "react";
import { Button } from "../../app/components/ui/button.tsx";
import { IconClose } from "../../app/components/ui/icons.tsx";
import { boxRegion, type Region, type TrialPicture } from "./regions.ts";
import styles from "./try-out.module.css";

const SIDES = ["x", "y", "width", "height"] as const;

/** Regions to describe; boxes can be drawn on the picture or entered as numbers. */
export function RegionList(props: {
  readonly picture: TrialPicture;
  readonly regions: readonly Region[];
  readonly onChange: (regions: readonly Region[]) => void;
  readonly onAdd: () => void;
}): ReactNode {
  const { picture, regions, onChange, onAdd } = props;
  const change = (id: string, next: (region: Region) => Region): void =>
    onChange(regions.map((region) => (region.id === id ? next(region) : region)));
  return (
    <fieldset className={`m-0 p-0 borderless ${styles.regions}`}>
      <legend className="p-0 bold">Regions</legend>
      <ul>
        {regions.map((region) => (
          <li key={region.id}>
            <label>
              <input
                type="checkbox"
                checked={region.on}
                onChange={(event) => {
                  const on = event.currentTarget.checked;
                  change(region.id, (before) => ({ ...before, on }));
                }}
              />
              <span>{region.label}</span>
            </label>
            {region.box !== null && (
              <span className={`row gap-1 ${styles.numbers}`}>
                {SIDES.map((name, side) => (
                  <input
                    key={name}
                    className="min-control surface framed-control round-s"
                    type="number"
                    min={0}
                    aria-label={`${region.label}, ${name} in pixels`}
                    title={`${name} in pixels`}
                    value={region.box?.[side] ?? 0}
                    onChange={(event) => {
                      const value = event.currentTarget.valueAsNumber;
                      change(region.id, (before) => {
                        const [x, y, width, height] = before.box ?? [0, 0, 1, 1];
                        const box = [x, y, width, height] as [number, number, number, number];
                        box[side] = value;
                        const { label, id, on } = before;
                        return { ...boxRegion(picture, box, 0), id, label, on };
                      });
                    }}
                  />
                ))}
                <Button
                  kind="quiet"
                  icon={<IconClose />}
                  aria-label={`Remove ${region.label}`}
                  onClick={() => onChange(regions.filter(({ id }) => id !== region.id))}
                />
              </span>
            )}
          </li>
        ))}
      </ul>
      <div className={`row wrap gap-2 ${styles.line}`}>
        <Button onClick={onAdd} data-testid="try-add-box">
          Add a box
        </Button>
        <span className="muted anywhere">or drag on the picture</span>
      </div>
    </fieldset>
  );
}
