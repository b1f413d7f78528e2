package io.jccl.cli.trace;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Writes dumps as a timeline in the trace event format, which Perfetto and Chrome read. Each process of the timeline is
 * a host, and each thread is a rank of a communicator. Arrows lead from rank to rank in the order in which they entered
 * a collective. Time begins with the first event.
 */
final class TimelineWriter {

    private static final long MIN_QUEUED_NANOS = 10_000;

    /** A slice in a rank's row. */
    private record Slice(
            Dump dump,
            String name,
            String category,
            long begin,
            long end,
            Map<String, Object> arguments,
            String flow) {}

    /** The dumps of one communicator, and its clocks. */
    record Group(List<Dump> dumps, Clocks clocks) {}

    private final Map<String, Integer> hosts = new LinkedHashMap<>();
    private final Map<String, Integer> rows = new HashMap<>();
    private final List<Group> groups;
    private final JsonGenerator json;
    private long start = Long.MAX_VALUE;
    private long flows;
    private long queued;

    private TimelineWriter(List<Group> groups, JsonGenerator json) {
        this.groups = groups;
        this.json = json;
    }

    /** Writes the timeline as one JSON value. */
    static void write(List<Group> groups, JsonGenerator json) throws IOException {
        new TimelineWriter(groups, json).write();
    }

    private void write() throws IOException {
        List<List<Slice>> all = new ArrayList<>();
        for (Group group : groups) {
            List<Slice> slices = new ArrayList<>();
            for (Dump dump : group.dumps()) {
                add(group, dump, slices);
            }
            slices.forEach(slice -> start = Math.min(start, issued(group, slice)));
            all.add(slices);
        }
        json.writeStartObject();
        json.writeStringField("displayTimeUnit", "ns");
        json.writeArrayFieldStart("traceEvents");
        nameRows();
        for (int i = 0; i < groups.size(); i++) {
            for (Slice slice : all.get(i)) {
                write(slice);
            }
            flows(all.get(i));
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static long issued(Group group, Slice slice) {
        Object issued = slice.arguments().get("issued");
        return issued instanceof Long nanos ? Math.min(slice.begin(), nanos) : slice.begin();
    }

    private void add(Group group, Dump dump, List<Slice> slices) {
        add(group, dump, dump.operations(), "collective", slices);
        add(group, dump, dump.deviceOperations(), "device", slices);
        addTransfers(group, dump, dump.transfers(), "transfer", slices);
        addTransfers(group, dump, dump.deviceTransfers(), "device transfer", slices);
    }

    private void addTransfers(
            Group group, Dump dump, List<Dump.Transfers> transfers, String category, List<Slice> slices) {
        for (Dump.Transfers one : transfers) {
            if (one.times().hasBegun()) {
                Map<String, Object> arguments = arguments(group, dump, one.times(), one.bytes(), one.state());
                slices.add(slice(group, dump, one.name(), category, one.state(), one.times(), arguments, ""));
            }
        }
    }

    private void add(Group group, Dump dump, List<Dump.Operation> operations, String category, List<Slice> slices) {
        for (Dump.Operation one : operations) {
            if (one.times().hasBegun()) {
                Map<String, Object> arguments = arguments(group, dump, one.times(), one.bytes(), one.state());
                arguments.put("sequence", one.sequence());
                arguments.put("call", one.call());
                arguments.put("executed", one.details());
                String flow = dump.session() + " " + category + " " + one.sequence();
                slices.add(slice(group, dump, one.name(), category, one.state(), one.times(), arguments, flow));
            }
        }
    }

    private static Slice slice(
            Group group,
            Dump dump,
            String name,
            String category,
            String state,
            Dump.Times times,
            Map<String, Object> arguments,
            String flow) {
        boolean isOpen = state.equals("running");
        long end = isOpen ? dump.nanos() : times.ended() == Dump.UNKNOWN ? times.begun() : times.ended();
        if (isOpen && !dump.waits().isEmpty()) {
            arguments.put("waits", String.join("; ", dump.waits()));
        }
        return new Slice(
                dump,
                state.equals("done") ? name : name + " (" + state + ")",
                category,
                group.clocks().align(dump, times.begun()),
                group.clocks().align(dump, Math.max(times.begun(), end)),
                arguments,
                flow);
    }

    private static Map<String, Object> arguments(Group group, Dump dump, Dump.Times times, long bytes, String state) {
        Map<String, Object> arguments = new LinkedHashMap<>();
        arguments.put("state", state);
        arguments.put("bytes", bytes);
        if (times.waitedFor() >= 0) {
            arguments.put("waited_us", times.waited() / 1e3);
            arguments.put("waited_for", (long) times.waitedFor());
        }
        if (times.issued() != Dump.UNKNOWN && times.begun() - times.issued() >= MIN_QUEUED_NANOS) {
            arguments.put("issued", group.clocks().align(dump, times.issued()));
        }
        return arguments;
    }

    /** Numbers hosts and rows, and writes their names. */
    private void nameRows() throws IOException {
        for (Group group : groups) {
            for (Dump dump : group.dumps()) {
                String host = dump.clock() + " " + dump.host();
                if (!hosts.containsKey(host)) {
                    hosts.put(host, hosts.size());
                    name("process_name", hosts.get(host), 0, "host " + dump.host());
                }
                rows.put(rowKey(dump), rows.size() + 1);
                int row = rows.get(rowKey(dump));
                name("thread_name", hosts.get(host), row, "rank " + dump.rank() + " of " + dump.communicator());
                json.writeStartObject();
                json.writeStringField("ph", "M");
                json.writeStringField("name", "thread_sort_index");
                json.writeNumberField("pid", hosts.get(host));
                json.writeNumberField("tid", row);
                json.writeObjectFieldStart("args");
                json.writeNumberField("sort_index", row);
                json.writeEndObject();
                json.writeEndObject();
            }
        }
    }

    private static String rowKey(Dump dump) {
        return dump.session() + " " + dump.rank();
    }

    private void name(String what, int process, int thread, String name) throws IOException {
        json.writeStartObject();
        json.writeStringField("ph", "M");
        json.writeStringField("name", what);
        json.writeNumberField("pid", process);
        json.writeNumberField("tid", thread);
        json.writeObjectFieldStart("args");
        json.writeStringField("name", name);
        json.writeEndObject();
        json.writeEndObject();
    }

    private void write(Slice slice) throws IOException {
        begin("X", slice.name(), slice.category(), slice.dump(), slice.begin());
        json.writeNumberField("dur", micros(slice.end() - slice.begin()));
        json.writeObjectFieldStart("args");
        for (Map.Entry<String, Object> argument : slice.arguments().entrySet()) {
            if (!argument.getKey().equals("issued")) {
                json.writeObjectField(argument.getKey(), argument.getValue());
            }
        }
        json.writeEndObject();
        json.writeEndObject();
        if (slice.arguments().get("issued") instanceof Long issued) {
            queued++;
            async("b", slice, issued);
            async("e", slice, slice.begin());
        }
    }

    /**
     * Writes the begin or the end of the time that an operation spent in the queue. That time is an asynchronous event,
     * because it overlaps earlier operations of the row.
     */
    private void async(String phase, Slice slice, long at) throws IOException {
        begin(phase, "queued " + slice.name(), "queue", slice.dump(), at);
        json.writeNumberField("id", queued);
        json.writeEndObject();
    }

    private void flows(List<Slice> slices) throws IOException {
        Map<String, List<Slice>> flowing = new TreeMap<>();
        for (Slice slice : slices) {
            if (!slice.flow().isEmpty()) {
                flowing.computeIfAbsent(slice.flow(), flow -> new ArrayList<>()).add(slice);
            }
        }
        for (List<Slice> same : flowing.values()) {
            same.sort(Comparator.comparingLong(Slice::begin));
            flows++;
            for (int i = 0; i < same.size() && same.size() > 1; i++) {
                String phase = i == 0 ? "s" : i == same.size() - 1 ? "f" : "t";
                begin(phase, "entered", "order", same.get(i).dump(), same.get(i).begin());
                json.writeNumberField("id", flows);
                if (phase.equals("f")) {
                    json.writeStringField("bp", "e");
                }
                json.writeEndObject();
            }
        }
    }

    private void begin(String phase, String name, String category, Dump dump, long at) throws IOException {
        json.writeStartObject();
        json.writeStringField("ph", phase);
        json.writeStringField("name", name);
        json.writeStringField("cat", category);
        json.writeNumberField("pid", hosts.get(dump.clock() + " " + dump.host()));
        json.writeNumberField("tid", rows.get(rowKey(dump)));
        json.writeNumberField("ts", micros(at - start));
    }

    private static double micros(long nanos) {
        return nanos / 1e3;
    }
}
