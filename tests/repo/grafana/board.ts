// A dashboard with our kinds of panels, in Grafana's published types; what they leave open ("unknown") is closed here.
import type { GraphFieldConfig, TableFieldOptions, TableOptions } from '@grafana/schema';
import type * as bargauge from '@grafana/schema/dist/esm/raw/composable/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen';
import type * as heatmap from '@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen';
import type * as stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type * as timeline from '@grafana/schema/dist/esm/raw/composable/statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen';
import type * as timeseries from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';
import type * as schema from '@grafana/schema/dist/esm/raw/dashboard/x/Dashboard_types.gen';
import type { Dataquery } from '@grafana/grafana-foundation-sdk/prometheus';

// JSON has the values of TypeScript's enumerations, not their names.
type Plain<T> = unknown extends T
  ? T
  : T extends string
    ? `${T}`
    : T extends number | boolean | null | undefined
      ? T
      : T extends (infer Item)[]
        ? Plain<Item>[]
        : T extends object
          ? { [Key in keyof T]: Plain<T[Key]> }
          : T;

type DataLink = { title: string; url: string; targetBlank: boolean };
type Query = Omit<Dataquery, '_implementsDataqueryVariant'>;
type Defaults<Custom> = Omit<schema.FieldConfig, 'custom' | 'links'> & {
  custom: Custom;
  links?: DataLink[];
  // The schema lets both out; we do not.
  unit: string;
};
type Of<Type extends string, Options, Custom> = Omit<
  schema.Panel,
  'type' | 'options' | 'fieldConfig' | 'targets' | 'title' | 'description'
> & {
  type: Type;
  title: string;
  description: string;
  options: Options;
  targets: Query[];
  fieldConfig: Omit<schema.FieldConfigSource, 'defaults'> & { defaults: Defaults<Custom> };
};
type Panel =
  | Of<'timeseries', timeseries.Options, GraphFieldConfig>
  | Of<'stat', stat.Options, Record<string, never>>
  | Of<'bargauge', bargauge.Options, Record<string, never>>
  | Of<'heatmap', heatmap.Options, heatmap.FieldConfig>
  | Of<'state-timeline', timeline.Options, timeline.FieldConfig>
  | Of<'table', TableOptions, Partial<TableFieldOptions>>;

// Each data source adds fields of its own to what an annotation is.
type Annotation = Omit<schema.AnnotationQuery, 'target'> & { target?: schema.AnnotationTarget } & {
  expr?: string;
  titleFormat?: string;
  textFormat?: string;
};

export type Board = Plain<
  Omit<schema.Dashboard, 'panels' | 'annotations'> & {
    panels: (Panel | schema.RowPanel)[];
    annotations: { list: Annotation[] };
  }
>;
