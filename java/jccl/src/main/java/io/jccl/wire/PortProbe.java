package io.jccl.wire;

import io.jccl.InterruptedCommunicationException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Finds out which ranks have ended, because nobody listens on their reserved ports. All probes together take at most a
 * second; ranks that were not probed by then count as living.
 */
public final class PortProbe {

    private static final int PROBE_MILLIS = 200;
    private static final long PROBE_ALL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final int rank;
    private final long deadline = System.nanoTime() + PROBE_ALL_NANOS;

    /**
     * Starts the second in which ranks are probed.
     *
     * @param rank this rank, for messages
     */
    public PortProbe(int rank) {
        this.rank = rank;
    }

    /**
     * Returns true if a rank has ended: the best of the addresses that lead to its host refuses, and no address
     * answers. Returns false if the time for all probes is over before every address was tried.
     *
     * @param addresses the addresses of the rank's reserved port, best first
     * @throws InterruptedCommunicationException if this thread is interrupted
     */
    public boolean hasEnded(List<InetSocketAddress> addresses) {
        boolean refused = false;
        boolean asked = false; // true once an address that leads to the rank's host was tried
        for (InetSocketAddress address : addresses) {
            if (System.nanoTime() - deadline >= 0) {
                return false;
            }
            try (SocketChannel channel = SocketChannel.open()) {
                channel.socket().connect(address, PROBE_MILLIS);
                return false;
            } catch (ClosedByInterruptException e) {
                throw new InterruptedCommunicationException(
                        "rank=" + rank + " was interrupted while it checked which ranks have ended", e);
            } catch (ConnectException e) {
                refused |= !asked && NetworkStack.indicatesEnd(address, e);
            } catch (IOException e) {
                continue; // this address does not lead to the rank
            } finally {
                asked |= NetworkStack.leadsThere(address);
            }
        }
        return refused;
    }
}
