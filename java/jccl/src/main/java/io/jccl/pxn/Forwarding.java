package io.jccl.pxn;

import io.jccl.TransportException;
import io.jccl.parts.SendForwarding.Send;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.BiPredicate;
import java.util.stream.IntStream;

/** The connections of all ranks that lead through the GPU of another rank of their host, the forwarder. */
final class Forwarding {

    private final List<Connection> all;

    /** @param all the connections of all ranks, in the order of the ranks that send */
    Forwarding(List<Connection> all) {
        this.all = all;
    }

    /**
     * A connection that leads through a forwarder.
     *
     * @param forwarder the rank through whose GPU it leads
     * @param from the rank that sends
     * @param to the rank that receives
     * @param device the number of the network device by which it leaves the host
     * @param ahead true if a ring or a tree needs it, so that it is made during initialisation
     */
    record Connection(int forwarder, int from, int to, int channel, int device, boolean ahead) {}

    static byte[] write(List<Send> mine) {
        WireWriter out = new WireWriter().i32(mine.size());
        mine.forEach(one -> out.i32(one.forwarder())
                .i32(one.to())
                .i32(one.channel())
                .i32(one.device())
                .flag(one.ahead()));
        return out.toBytes();
    }

    /**
     * Reads the connections that a rank asks for. Each leads through a rank of its own host to a rank of another host.
     */
    static List<Connection> read(int from, byte[] sent, int size, BiPredicate<Integer, Integer> sameHost) {
        try {
            WireReader in = new WireReader(sent);
            List<Connection> connections = new ArrayList<>();
            for (int left = in.i32In("connections", 0, sent.length); left > 0; left--) {
                Connection one = new Connection(
                        in.i32In("forwarder", 0, size - 1),
                        from,
                        in.i32In("to", 0, size - 1),
                        in.i32In("channel", 0, Integer.MAX_VALUE),
                        in.i32(),
                        in.flag());
                if (!sameHost.test(one.forwarder(), from) || sameHost.test(one.to(), from)) {
                    throw new WireException(one + " must lead through a rank of the sender's host to another host");
                }
                connections.add(one);
            }
            in.end();
            return connections;
        } catch (WireException e) {
            throw new TransportException(
                    "peer=" + from + " length=" + sent.length + ": sent requests to forward that make no sense, "
                            + e.getMessage() + "; all ranks must run the same library",
                    e);
        }
    }

    /** Returns the connections of a forwarder, in an order that is the same on all ranks. */
    private List<Connection> by(int forwarder) {
        return all.stream().filter(one -> one.forwarder() == forwarder).toList();
    }

    /** Returns the number of connections of a forwarder. */
    int count(int forwarder) {
        return by(forwarder).size();
    }

    /** Returns the connections of a forwarder as rows that the native engine expects. */
    int[] rows(int forwarder) {
        return by(forwarder).stream()
                .flatMapToInt(one -> Arrays.stream(
                        NativePxn.forwarded(one.from(), one.to(), one.channel(), one.device(), one.ahead())))
                .toArray();
    }

    /** Returns the ranks that forward data of a rank. */
    SortedSet<Integer> forwardersOf(int rank) {
        SortedSet<Integer> forwarders = new TreeSet<>();
        all.stream().filter(one -> one.from() == rank).forEach(one -> forwarders.add(one.forwarder()));
        return forwarders;
    }

    /** Returns the connections that a rank asks a forwarder for, as rows that the native engine expects. */
    int[] requests(int rank, int forwarder) {
        List<Connection> connections = by(forwarder);
        return IntStream.range(0, connections.size())
                .filter(i -> connections.get(i).from() == rank)
                .flatMap(i -> Arrays.stream(NativePxn.request(
                        connections.get(i).to(), connections.get(i).channel(), i)))
                .toArray();
    }
}
