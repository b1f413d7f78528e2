package io.jccl.cli.ps;

import com.fasterxml.jackson.core.JsonGenerator;
import io.jccl.ChannelWait;
import io.jccl.RankOperation;
import io.jccl.cli.output.BuildVersion;
import io.jccl.cli.output.Json;
import io.jccl.control.OperationRecord;
import io.jccl.diagnosis.CommunicatorSample;
import io.jccl.diagnosis.Diagnosis;
import io.jccl.diagnosis.Finding;
import io.jccl.diagnosis.RankView;
import io.jccl.status.CommunicatorView;
import io.jccl.status.JoinSnapshot;
import io.jccl.status.ProcessSnapshot;
import io.jccl.status.RankSnapshot;
import io.jccl.wire.LastEntered;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Writes the output of {@code jccl ps --json}, in the form of docs/schema/ps.schema.json. */
final class PsJson {

    private static final double SECOND = 1e9;

    private PsJson() {}

    static void write(
            JsonGenerator json,
            List<Diagnosis> all,
            List<ProcessSnapshot> processes,
            List<String> dumps,
            List<String> notes)
            throws IOException {
        json.writeStartObject();
        json.writeStringField("version", BuildVersion.get());
        strings(json, "notes", notes);
        strings(json, "dumps", dumps);
        json.writeArrayFieldStart("processes");
        for (ProcessSnapshot process : processes) {
            json.writeStartObject();
            json.writeNumberField("pid", process.pid());
            json.writeStringField("host", process.hostName());
            json.writeNumberField("port", process.port());
            json.writeArrayFieldStart("joins");
            for (JoinSnapshot join : process.joins()) {
                write(json, join);
            }
            json.writeEndArray();
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("communicators");
        for (Diagnosis one : all) {
            write(json, one);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void write(JsonGenerator json, JoinSnapshot join) throws IOException {
        json.writeStartObject();
        json.writeStringField("job", join.job());
        json.writeStringField("members", join.members());
        Json.number(json, "seconds", join.nanos() / SECOND);
        json.writeArrayFieldStart("asked");
        for (Map.Entry<String, String> asked : join.outcomes().entrySet()) {
            json.writeStartObject();
            json.writeStringField("address", asked.getKey());
            json.writeStringField("outcome", asked.getValue());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void strings(JsonGenerator json, String name, List<String> values) throws IOException {
        json.writeArrayFieldStart(name);
        for (String value : values) {
            json.writeString(value);
        }
        json.writeEndArray();
    }

    private static void write(JsonGenerator json, Diagnosis one) throws IOException {
        CommunicatorSample sample = one.sample();
        json.writeStartObject();
        if (sample.id().isEmpty()) {
            json.writeNullField("id");
        } else {
            json.writeStringField("id", sample.id());
        }
        json.writeStringField("job", sample.job());
        json.writeNumberField("generation", sample.generation());
        json.writeNumberField("size", sample.size());
        json.writeNumberField("hosts", sample.hosts());
        json.writeNumberField("median_sequence", sample.medianSequence());
        json.writeArrayFieldStart("findings");
        for (Finding finding : one.findings()) {
            json.writeStartObject();
            json.writeStringField("kind", finding.kind().label());
            json.writeArrayFieldStart("ranks");
            for (int rank : finding.ranks()) {
                json.writeNumber(rank);
            }
            json.writeEndArray();
            json.writeStringField("text", finding.text());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("ranks");
        for (RankView rank : sample.ranks().values()) {
            write(json, rank);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void write(JsonGenerator json, RankView rank) throws IOException {
        json.writeStartObject();
        json.writeNumberField("rank", rank.rank());
        json.writeStringField("host", rank.host());
        json.writeNumberField("pid", rank.pid());
        if (rank.snapshot().isPresent()) {
            write(json, rank.snapshot().get());
        } else {
            json.writeStringField(
                    "state",
                    rank.absentee()
                            .map(it -> it.reason().name().toLowerCase(Locale.ROOT))
                            .orElse("unknown"));
            json.writeStringField("text", rank.absentee().map(it -> it.text()).orElse(""));
        }
        json.writeEndObject();
    }

    private static void write(JsonGenerator json, RankSnapshot rank) throws IOException {
        json.writeStringField("state", rank.phase().name().toLowerCase(Locale.ROOT));
        if (!rank.step().isEmpty()) {
            json.writeStringField("step", rank.step());
        }
        Json.number(json, "state_seconds", rank.phaseNanos() / SECOND);
        LastEntered entered = rank.status().lastEntered();
        json.writeNumberField("entered", entered.host());
        json.writeNumberField("done", rank.lastDone().host());
        json.writeNumberField("device_entered", entered.device());
        json.writeNumberField("device_done", rank.lastDone().device());
        Optional<CommunicatorView.UnderWay> underWay = rank.underWay();
        if (underWay.isPresent()) {
            json.writeObjectFieldStart("under_way");
            json.writeStringField("call", underWay.get().call());
            json.writeNumberField("sequence", LastEntered.plain(underWay.get().sequence()));
            json.writeBooleanField(
                    "device", LastEntered.isOnDevice(underWay.get().sequence()));
            Json.number(json, "seconds", underWay.get().nanos() / SECOND);
            json.writeEndObject();
        }
        Optional<RankOperation> operation = rank.status().operation().map(OperationRecord::operation);
        if (operation.isPresent()) {
            write(json, operation.get());
        }
        json.writeArrayFieldStart("waits");
        for (int i = 0; i < rank.waitNanos().size(); i++) {
            write(json, rank.status().waits().get(i), rank.waitNanos().get(i));
        }
        json.writeEndArray();
        json.writeArrayFieldStart("transports");
        for (CommunicatorView.Traffic one : rank.traffic()) {
            json.writeStartObject();
            json.writeStringField("transport", one.transport().label());
            json.writeNumberField("peers", one.peers());
            json.writeNumberField("sent_bytes", one.sentBytes());
            json.writeNumberField("long_waits", one.longWaits());
            Json.number(json, "waited_seconds", one.waitedNanos() / SECOND);
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeObjectFieldStart("totals");
        json.writeNumberField("operations", rank.totals().operations());
        json.writeNumberField("bytes", rank.totals().bytes());
        Json.number(json, "seconds", rank.totals().nanos() / SECOND);
        json.writeEndObject();
        json.writeObjectFieldStart("pace");
        json.writeNumberField("operations", rank.pace().operations());
        Json.number(json, "inside_seconds", rank.pace().insideNanos() / SECOND);
        Json.number(json, "outside_seconds", rank.pace().outsideNanos() / SECOND);
        json.writeEndObject();
        if (!rank.failure().isEmpty()) {
            json.writeStringField("failure", rank.failure());
        }
    }

    private static void write(JsonGenerator json, RankOperation operation) throws IOException {
        json.writeObjectFieldStart("operation");
        json.writeNumberField("sequence", operation.sequence());
        json.writeStringField("state", operation.state().label());
        json.writeStringField(
                "collective",
                operation.collective() == null ? "" : operation.collective().label());
        json.writeStringField(
                "type", operation.type() == null ? "" : operation.type().label());
        json.writeStringField("op", operation.op() == null ? "" : operation.op().label());
        json.writeNumberField("count", operation.count());
        json.writeNumberField("root", operation.root());
        json.writeEndObject();
    }

    private static void write(JsonGenerator json, ChannelWait wait, long nanos) throws IOException {
        json.writeStartObject();
        json.writeNumberField("channel", wait.channel());
        json.writeNumberField("peer", wait.peer());
        json.writeStringField("transport", wait.transport().label());
        json.writeStringField("for", wait.receiving() ? "data" : "credit");
        json.writeStringField("reason", wait.waitFor().label());
        json.writeStringField("protocol", wait.protocol().label());
        json.writeNumberField("step", wait.step());
        Json.number(json, "seconds", nanos < 0 ? null : nanos / SECOND);
        json.writeEndObject();
    }
}
