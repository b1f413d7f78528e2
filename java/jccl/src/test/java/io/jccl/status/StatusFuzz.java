package io.jccl.status;

import io.jccl.rendezvous.AwaitedRanks;
import io.jccl.wire.WireException;
import io.jccl.wire.WireWriter;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/** Fuzz target: messages between {@code jccl ps} and processes. The first byte selects the reader. */
public final class StatusFuzz {

    private static final int MAX_TEXT = 200;

    private StatusFuzz() {}

    /** Reads the bytes; throws unless they are read or are refused with a reason. */
    public static void fuzzerTestOneInput(byte[] data) {
        if (data.length == 0) {
            return;
        }
        byte[] body = Arrays.copyOfRange(data, 1, data.length);
        try {
            switch ((data[0] & 0xff) % 3) {
                case 0 -> {
                    byte[] again = Answer.decode(body).encode();
                    requireSame(again, Answer.decode(again).encode());
                }
                case 1 -> {
                    byte[] again = Request.decode(ofThisVersion(body)).encode();
                    requireSame(again, Request.decode(again).encode());
                }
                default -> Request.decode(body);
            }
        } catch (WireException | Answer.RefusedException | Request.OtherVersionException e) {
            if (e.getMessage() == null) {
                throw new IllegalStateException("refused without a reason", e);
            }
        }
    }

    private static byte[] ofThisVersion(byte[] body) {
        return new WireWriter().text(Request.version(), MAX_TEXT).raw(body).toBytes();
    }

    private static void requireSame(byte[] one, byte[] other) {
        if (!Arrays.equals(one, other)) {
            throw new IllegalStateException("changed by writing and reading");
        }
    }

    /** Returns valid inputs for each reader, with which a fuzzer starts. */
    public static SortedMap<String, byte[]> seeds() {
        SortedMap<String, byte[]> seeds = new TreeMap<>();
        seeds.put("answer", with(0, new Answer(List.of(), List.of()).encode()));
        ProcessSnapshot joining = new ProcessSnapshot(
                "1-a",
                1,
                "a host",
                "a",
                7000,
                List.of(new AwaitedRanks.Waiting("3f2a91c0", "waits", 3, new TreeSet<>(Set.of(1)), 1)),
                List.of(),
                List.of(new JoinSnapshot("77aa01bc", "a:1,b:2", 5, Map.of("a:1", "refused"))),
                List.of("a dump"));
        seeds.put("joining", with(0, new Answer(List.of(joining), List.of()).encode()));
        seeds.put("refusal", with(0, Answer.refusal("no")));
        byte[] request = Request.latest(Request.Kind.JOB).encode();
        int version = ofThisVersion(new byte[0]).length;
        seeds.put("request", with(1, Arrays.copyOfRange(request, version, request.length)));
        seeds.put("version", with(2, request));
        return seeds;
    }

    private static byte[] with(int reader, byte[] body) {
        byte[] all = new byte[body.length + 1];
        all[0] = (byte) reader;
        System.arraycopy(body, 0, all, 1, body.length);
        return all;
    }
}
