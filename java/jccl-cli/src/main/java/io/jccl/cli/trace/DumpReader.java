package io.jccl.cli.trace;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jccl.internal.Causes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;

/** Reads the dumps in a folder, which have the form of docs/schema/dump.schema.json. */
final class DumpReader {

    private static final int VERSION = 1;
    private static final int MAX_RANKS = 1 << 16;

    /**
     * The content of a folder.
     *
     * @param dumps the last dump of each rank of each communicator
     * @param problems a sentence for each file that is not a dump
     */
    record Found(List<Dump> dumps, List<String> problems) {}

    private DumpReader() {}

    /**
     * Reads all dumps of a folder.
     *
     * @throws IllegalArgumentException if there is no such folder, or no dump in it
     */
    static Found readAll(Path folder) {
        List<String> problems = new ArrayList<>();
        List<Dump> dumps = new ArrayList<>();
        List<Path> files = files(folder);
        for (Path file : files) {
            try {
                dumps.add(read(file));
            } catch (IllegalArgumentException e) {
                problems.add(Causes.describe(e));
            }
        }
        if (files.isEmpty()) {
            throw new IllegalArgumentException(
                    "DIR=" + folder + ": has no dump (jccl-*.json); ranks write them when they fail"
                            + " if JCCL_DUMP_DIR names a folder");
        }
        return new Found(last(dumps), problems);
    }

    /** Returns the last dump of each rank of each communicator. */
    static List<Dump> last(List<Dump> dumps) {
        Map<String, Dump> last = new HashMap<>();
        for (Dump dump : dumps) {
            last.merge(
                    dump.session() + " " + dump.rank(),
                    dump,
                    (one, other) -> one.wallNanos() > other.wallNanos() ? one : other);
        }
        return List.copyOf(last.values());
    }

    private static List<Path> files(Path folder) {
        try (Stream<Path> all = Files.list(folder)) {
            return all.filter(file -> file.getFileName().toString().matches("jccl-.*\\.json"))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "DIR=" + folder + ": cannot be read (" + e + "); name the folder that JCCL_DUMP_DIR named", e);
        }
    }

    /**
     * Reads one file.
     *
     * @throws IllegalArgumentException if it cannot be read or is not a dump
     */
    static Dump read(Path file) {
        try {
            return read(file, Files.readAllBytes(file));
        } catch (IOException e) {
            throw noDump(file, e);
        }
    }

    /**
     * Reads the content of one file.
     *
     * @throws IllegalArgumentException if it is not a dump
     */
    static Dump read(Path file, byte[] content) {
        try {
            JsonNode root = new ObjectMapper().readTree(content);
            long version = number(root, "version", 0, Long.MAX_VALUE);
            if (version != VERSION) {
                throw new IllegalArgumentException(
                        "version=" + version + ", expected " + VERSION + ": use the jccl command of the job's version");
            }
            return dump(file, root);
        } catch (IOException | IllegalArgumentException e) {
            throw noDump(file, e);
        }
    }

    private static IllegalArgumentException noDump(Path file, Exception cause) {
        return new IllegalArgumentException(
                "file=" + file + ": is no dump of a rank ("
                        + Causes.describe(cause).lines().findFirst().orElse("") + ")",
                cause);
    }

    private static Dump dump(Path file, JsonNode root) {
        int size = (int) number(root, "size", 1, MAX_RANKS);
        JsonNode clock = required(root, "clock");
        JsonNode failure = root.get("failure");
        return new Dump(
                file,
                text(root, "communicator"),
                text(root, "session"),
                (int) number(root, "rank", 0, size - 1),
                size,
                text(root, "host"),
                number(root, "pid", 0, Long.MAX_VALUE),
                text(clock, "id"),
                time(clock, "nanos"),
                time(clock, "wall_nanos"),
                failure == null ? Optional.empty() : Optional.of(text(failure, "text")),
                all(root, "operations", DumpReader::operation),
                all(root, "device_operations", DumpReader::operation),
                all(root, "transfers", DumpReader::transfers),
                root.has("device_transfers") ? all(root, "device_transfers", DumpReader::transfers) : List.of(),
                waits(root, time(clock, "nanos")));
    }

    private static <T> List<T> all(JsonNode root, String name, Function<JsonNode, T> reader) {
        JsonNode array = required(root, name);
        if (!array.isArray()) {
            throw new IllegalArgumentException(name + ": expected an array");
        }
        List<T> found = new ArrayList<>(array.size());
        for (JsonNode one : array) {
            found.add(reader.apply(one));
        }
        return found;
    }

    private static Dump.Operation operation(JsonNode node) {
        String name = text(node, "collective");
        StringBuilder call = new StringBuilder(name).append('(');
        String separator = "";
        for (String part : List.of("type", "op", "count", "root")) {
            if (node.has(part)) {
                call.append(separator)
                        .append(part)
                        .append('=')
                        .append(node.get(part).asText());
                separator = " ";
            }
        }
        String details = text(node, "algorithm") + " " + text(node, "protocol") + " channels="
                + number(node, "channels", 0, Integer.MAX_VALUE)
                + (node.path("in_place").asBoolean() ? " in place" : "");
        return new Dump.Operation(
                number(node, "sequence", 1, Long.MAX_VALUE),
                name.equals("barrier") ? "barrier()" : call.append(')').toString(),
                name,
                number(node, "bytes", 0, Long.MAX_VALUE),
                text(node, "state"),
                text(node, "fingerprint"),
                details,
                times(node));
    }

    private static Dump.Transfers transfers(JsonNode node) {
        List<String> parts = new ArrayList<>();
        long bytes = 0;
        if (node.has("sends")) {
            long sends = number(node, "sends", 1, Integer.MAX_VALUE);
            parts.add(sends == 1 ? "send to " + number(node, "to", 0, MAX_RANKS) : sends + " sends");
            bytes += number(node, "sent_bytes", 0, Long.MAX_VALUE);
        }
        if (node.has("receives")) {
            long receives = number(node, "receives", 1, Integer.MAX_VALUE);
            parts.add(receives == 1 ? "receive from " + number(node, "from", 0, MAX_RANKS) : receives + " receives");
            bytes += number(node, "received_bytes", 0, Long.MAX_VALUE);
        }
        return new Dump.Transfers(
                number(node, "number", 1, Long.MAX_VALUE),
                String.join(", ", parts),
                bytes,
                text(node, "state"),
                times(node));
    }

    /** Returns the waits of channels, and the messages that were not over at the time of the dump. */
    private static List<String> waits(JsonNode root, long now) {
        List<String> waits = new ArrayList<>(all(root, "waits", DumpReader::waitOf));
        if (root.has("messages")) {
            waits.addAll(all(root, "messages", node -> messageOf(node, now)));
        }
        return waits;
    }

    private static String messageOf(JsonNode node, long now) {
        String what = required(node, "awaited").asBoolean() ? " is awaited, for " : " is not over, for ";
        return text(node, "call") + what + Durations.text(now - time(node, "begun"));
    }

    private static String waitOf(JsonNode node) {
        return "channel=" + number(node, "channel", 0, Integer.MAX_VALUE) + " waits for " + reasonOf(node) + " rank="
                + number(node, "peer", -1, MAX_RANKS) + " over " + text(node, "transport") + ", "
                + text(node, "protocol") + " step=" + number(node, "step", Long.MIN_VALUE, Long.MAX_VALUE);
    }

    /** Returns what a channel waits for, as text. Dumps of earlier versions contain no reason for a wait. */
    private static String reasonOf(JsonNode wait) {
        boolean receiving = required(wait, "receiving").asBoolean();
        String reason = wait.has("reason") ? text(wait, "reason") : "";
        return switch (reason) {
            case "buffer_exchange" -> "the buffer exchange with";
            case "collnet" -> "a reduction of the network, next";
            default -> receiving ? "data from" : "credit to send to";
        };
    }

    private static Dump.Times times(JsonNode node) {
        return new Dump.Times(
                optional(node, "issued"),
                optional(node, "begun"),
                optional(node, "ended"),
                node.has("waited") ? time(node, "waited") : 0,
                node.has("waited_for") ? (int) number(node, "waited_for", -1, MAX_RANKS) : -1);
    }

    private static long optional(JsonNode node, String name) {
        return node.has(name) ? time(node, name) : Dump.UNKNOWN;
    }

    private static JsonNode required(JsonNode node, String name) {
        JsonNode value = node.get(name);
        if (value == null) {
            throw new IllegalArgumentException(name + " is missing");
        }
        return value;
    }

    private static String text(JsonNode node, String name) {
        JsonNode value = required(node, name);
        if (!value.isTextual()) {
            throw new IllegalArgumentException(name + "=" + value + ": expected a text");
        }
        return value.textValue();
    }

    private static long number(JsonNode node, String name, long min, long max) {
        JsonNode value = required(node, name);
        if (!value.canConvertToLong()
                || !value.isIntegralNumber()
                || value.longValue() < min
                || value.longValue() > max) {
            throw new IllegalArgumentException(name + "=" + value + ": expected a number of " + min + " to " + max);
        }
        return value.longValue();
    }

    /**
     * Reads a time. Its range is limited so that no difference of two times overflows, whatever host they come from.
     */
    private static long time(JsonNode node, String name) {
        return number(node, name, -(1L << 61), 1L << 61);
    }
}
