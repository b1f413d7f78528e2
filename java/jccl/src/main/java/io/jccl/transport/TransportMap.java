package io.jccl.transport;

import io.jccl.PeerTransport;
import io.jccl.TransportKind;
import io.jccl.wire.RankList;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.function.IntPredicate;

/** Describes the transports of one rank as text, for the log. */
public final class TransportMap {

    private TransportMap() {}

    /**
     * Returns the reasons why a rank uses a network to ranks of its own host, one line for each reason; empty if it
     * uses none.
     *
     * @param sameHost returns true if a peer is on this rank's host
     */
    public static List<String> detours(int rank, List<PeerTransport> transports, IntPredicate sameHost) {
        Map<String, List<Integer>> peers = new LinkedHashMap<>();
        for (PeerTransport one : transports) {
            if (one.kind().isNetwork() && sameHost.test(one.peer())) {
                peers.computeIfAbsent(one.kind().label() + "|" + one.reason(), key -> new ArrayList<>())
                        .add(one.peer());
            }
        }
        List<String> lines = new ArrayList<>();
        peers.forEach((key, ranks) -> lines.add("rank " + rank + ": " + key.substring(0, key.indexOf('|')) + " to "
                + RankList.text(ranks) + " although on the same host: " + key.substring(key.indexOf('|') + 1)));
        return lines;
    }

    /**
     * Returns a line such as {@code rank 0: shm to {1}, socket to {2,3} by eth0 (10.0.0.1, fd00:0:0:0:0:0:0:1)}.
     *
     * @param local the addresses of this rank's sockets
     * @param plugin the name of the network plug-in; empty if there is none
     */
    public static String describe(int rank, List<PeerTransport> transports, List<InetAddress> local, String plugin) {
        Map<TransportKind, List<Integer>> peers = new EnumMap<>(TransportKind.class);
        for (PeerTransport one : transports) {
            peers.computeIfAbsent(one.kind(), kind -> new ArrayList<>()).add(one.peer());
        }
        if (peers.isEmpty()) {
            return "rank " + rank + ": alone";
        }
        StringJoiner text = new StringJoiner(", ", "rank " + rank + ": ", "");
        peers.forEach(
                (kind, ranks) -> text.add(kind.label() + " to " + RankList.text(ranks) + by(kind, local, plugin)));
        return text.toString();
    }

    private static String by(TransportKind kind, List<InetAddress> addresses, String plugin) {
        if (kind == TransportKind.PLUGIN) {
            return " by " + plugin;
        }
        if (kind != TransportKind.SOCKET) {
            return "";
        }
        Map<String, List<String>> byInterface = new LinkedHashMap<>();
        for (InetAddress one : addresses) {
            String address = one.getHostAddress();
            byInterface
                    .computeIfAbsent(interfaceOf(one).orElse(address), name -> new ArrayList<>())
                    .add(address);
        }
        StringJoiner text = new StringJoiner(" and ", " by ", "");
        byInterface.forEach(
                (name, its) -> text.add(its.contains(name) ? name : name + " (" + String.join(", ", its) + ")"));
        return text.toString();
    }

    private static Optional<String> interfaceOf(InetAddress local) {
        try {
            return Optional.ofNullable(NetworkInterface.getByInetAddress(local)).map(NetworkInterface::getName);
        } catch (SocketException e) {
            return Optional.empty(); // without the interface's name the line is only harder to read
        }
    }
}
