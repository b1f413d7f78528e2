package io.jccl.bootstrap;

import io.jccl.InterruptedCommunicationException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Finds out which ranks have ended: nobody listens on their reserved ports. For a second in all; then all others live. */
final class PortProbe {

    private static final int PROBE_MILLIS = 200;
    private static final long PROBE_ALL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final int rank;
    private final long deadline = System.nanoTime() + PROBE_ALL_NANOS;

    /** @param rank this one, for messages */
    PortProbe(int rank) {
        this.rank = rank;
    }

    /**
     * Returns true if a rank has ended: the best of a port's addresses that lead to the rank's host refuses, and no other answers.
     *
     * @param addresses of a port
     * @throws InterruptedCommunicationException if this thread is interrupted
     */
    boolean hasEnded(List<InetSocketAddress> addresses) {
        boolean refused = false;
        boolean asked = false; // an address that leads there
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
                continue; // this address does not lead there
            } finally {
                asked |= NetworkStack.leadsThere(address);
            }
        }
        return refused;
    }
}
