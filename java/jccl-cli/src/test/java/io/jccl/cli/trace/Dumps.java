package io.jccl.cli.trace;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Makes the dump of a rank for tests: a rank that has run the given operations. */
final class Dumps {

    private static final String SESSION = "00112233445566778899aabbccddeeff";

    private final int rank;
    private final int size;
    private final List<String> operations = new ArrayList<>();
    private final List<String> deviceTransfers = new ArrayList<>();
    private final List<String> waits = new ArrayList<>();
    private final List<String> messages = new ArrayList<>();
    private String clock = "clock-a";
    private long shift;
    private long wallError;
    private long taken = 1_000_000_000;

    private Dumps(int rank, int size) {
        this.rank = rank;
        this.size = size;
    }

    static Dumps of(int rank, int size) {
        return new Dumps(rank, size);
    }

    /**
     * Gives the rank a clock of its own, which is {@code ahead} ns ahead of the first clock. The time of day of the
     * rank's host is {@code wrong} ns ahead of the true time.
     */
    Dumps clock(String name, long ahead, long wrong) {
        clock = name;
        shift = ahead;
        wallError = wrong;
        return this;
    }

    /** Sets the time of the dump, in ns. */
    Dumps taken(long nanos) {
        taken = nanos;
        return this;
    }

    /**
     * Adds an operation with the next sequence number. Times are in ns by the first clock; this method converts them to
     * the rank's clock (see {@link #clock}). An end of 0 means that the operation is under way.
     */
    Dumps operation(String collective, String arguments, long begun, long ended) {
        long sequence = operations.size() + 1;
        String fingerprint = String.format("%016x", (collective + arguments + sequence).hashCode() & 0xffffffffL);
        operations.add("{\"sequence\":" + sequence + ",\"collective\":\"" + collective + "\"," + arguments
                + "\"bytes\":4096,\"state\":\"" + (ended == 0 ? "running" : "done") + "\",\"fingerprint\":\""
                + fingerprint
                + "\",\"algorithm\":\"ring\",\"protocol\":\"simple\",\"channels\":1,\"in_place\":false,\"issued\":"
                + (begun + shift) + ",\"begun\":" + (begun + shift)
                + (ended == 0 ? "" : ",\"ended\":" + (ended + shift)) + "}");
        return this;
    }

    Dumps allReduce(long begun, long ended) {
        return operation("all_reduce", "\"type\":\"float32\",\"op\":\"sum\",\"count\":1024,", begun, ended);
    }

    /** Adds a send of a kilobyte from GPU memory. */
    Dumps deviceSend(int to, long begun, long ended) {
        deviceTransfers.add("{\"number\":" + (deviceTransfers.size() + 1)
                + ",\"after\":0,\"state\":\"done\",\"sends\":1,\"to\":" + to + ",\"sent_bytes\":1024,\"begun\":"
                + (begun + shift) + ",\"ended\":" + (ended + shift) + "}");
        return this;
    }

    Dumps waitsFor(int peer) {
        waits.add("{\"channel\":0,\"peer\":" + peer
                + ",\"transport\":\"shm\",\"receiving\":true,\"protocol\":\"simple\",\"step\":7}");
        return this;
    }

    /** Adds a call of messages that began 500 ms before the dump. */
    Dumps message(String call, boolean isAwaited) {
        messages.add("{\"call\":\"" + call + "\",\"begun\":" + (taken + shift - 500_000_000) + ",\"awaited\":"
                + isAwaited + "}");
        return this;
    }

    String text() {
        return "{\"version\":1,\"communicator\":\"00112233\",\"session\":\"" + SESSION + "\",\"rank\":" + rank
                + ",\"size\":" + size + ",\"host\":\"host-" + clock + "\",\"pid\":" + (100 + rank)
                + ",\"clock\":{\"id\":\"" + clock + "\",\"nanos\":" + (taken + shift) + ",\"wall_nanos\":"
                + (1_700_000_000_000_000_000L + taken + wallError) + "},\"operations\":[" + String.join(",", operations)
                + "],\"device_operations\":[],\"transfers\":[],"
                // Dumps of older versions lack device transfers.
                + (deviceTransfers.isEmpty() ? "" : "\"device_transfers\":[" + String.join(",", deviceTransfers) + "],")
                + "\"waits\":[" + String.join(",", waits) + "]"
                + (messages.isEmpty() ? "" : ",\"messages\":[" + String.join(",", messages) + "]") + "}\n";
    }

    Dump dump(Path folder) throws IOException {
        return DumpReader.read(write(folder));
    }

    Path write(Path folder) throws IOException {
        return Files.writeString(folder.resolve("jccl-00112233-rank" + rank + "-" + (100 + rank) + ".json"), text());
    }
}
