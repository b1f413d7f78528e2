package io.jccl.transport;

import io.jccl.PeerTransport;
import io.jccl.TransportKind;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;

/** The transports of one rank in words, for the log. */
public final class TransportMap {

    private TransportMap() {}

    /** For example {@code rank 0: shm to {1}, socket to {2,3}}. */
    public static String describe(int rank, List<PeerTransport> transports) {
        Map<TransportKind, StringJoiner> peers = new EnumMap<>(TransportKind.class);
        for (PeerTransport one : transports) {
            peers.computeIfAbsent(one.kind(), kind -> new StringJoiner(",", kind.label() + " to {", "}"))
                    .add(Integer.toString(one.peer()));
        }
        if (peers.isEmpty()) {
            return "rank " + rank + ": alone";
        }
        StringJoiner text = new StringJoiner(", ", "rank " + rank + ": ", "");
        peers.values().forEach(part -> text.add(part.toString()));
        return text.toString();
    }
}
