/**
 * BullMQ's own telemetry (bullmq-otel), whose spans leave by OTLP over HTTP soon after they end.
 *
 * The service's name is that of OTEL_SERVICE_NAME, or `driver`.
 */

import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { BullMQOtel } from "bullmq-otel";

// A crashed process loses what it has not sent; a test waits for what is sent.
const SEND_AFTER_MS = 50;

/** What goes to BullMQ as its option `telemetry`, and how to send the last spans. */
export function telemetryTo(endpoint) {
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces` });
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ "service.name": process.env.OTEL_SERVICE_NAME ?? "driver" }),
    spanProcessors: [new BatchSpanProcessor(exporter, { scheduledDelayMillis: SEND_AFTER_MS })],
  });
  provider.register();
  return { telemetry: new BullMQOtel({ tracerName: "bullmq" }), close: () => provider.shutdown() };
}
