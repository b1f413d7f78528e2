package io.jccl.pxn;

import io.jccl.TransportException;
import io.jccl.parts.SendForwarding.Send;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Fuzz target: the requests to forward that ranks send each other while a communicator is initialised. */
public final class ForwardingFuzz {

    private static final int SIZE = 4;

    private ForwardingFuzz() {}

    /** Reads the bytes; throws unless they are read or are refused with a reason. */
    public static void fuzzerTestOneInput(byte[] data) {
        try {
            List<Forwarding.Connection> asked = Forwarding.read(1, data, SIZE, (one, other) -> one / 2 == other / 2);
            if (asked.stream().anyMatch(one -> one.forwarder() > 1 || one.to() < 2)) {
                throw new IllegalStateException("asks for an impossible connection: " + asked);
            }
        } catch (TransportException e) {
            if (!e.getMessage().contains("peer=1")) {
                throw new IllegalStateException("does not name the rank that sent it", e);
            }
        }
    }

    /** Returns valid inputs, with which a fuzzer starts. */
    public static SortedMap<String, byte[]> seeds() {
        return new TreeMap<>(Map.of("one", Forwarding.write(List.of(new Send(0, 2, 0, 1, true)))));
    }
}
