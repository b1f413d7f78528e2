package io.jccl.rendezvous;

import io.jccl.wire.Reactor;
import io.jccl.wire.Server;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lists the ranks and processes for which the rendezvous servers and coordinators of this process wait. {@code jccl ps}
 * shows this list while a communicator is initialised. Safe for use by any thread.
 */
public final class AwaitedRanks {

    private static final Logger LOG = LoggerFactory.getLogger(AwaitedRanks.class);
    private static final List<Server> SERVERS = new ArrayList<>(); // guarded by itself

    private record Server(Reactor reactor, Supplier<Waiting> waiting) {}

    private AwaitedRanks() {}

    /**
     * The ranks and processes for which one server waits.
     *
     * @param communicator the short name of the communicator, empty while it has none; while a communicator is
     *     reformed, the name of its previous generation
     * @param what a sentence about the wait, for example {@code the coordinator waits for ranks to connect}
     * @param size the number of ranks
     * @param ranks the ranks that have not come
     * @param processes the number of joining processes that have not come; they have no rank yet
     */
    public record Waiting(String communicator, String what, int size, SortedSet<Integer> ranks, int processes) {

        public static final Waiting NOTHING = new Waiting("", "", 0, new TreeSet<>());

        public Waiting(String communicator, String what, int size, SortedSet<Integer> ranks) {
            this(communicator, what, size, ranks, 0);
        }

        boolean isNothing() {
            return ranks.isEmpty() && processes == 0;
        }
    }

    /**
     * Adds the server that runs on a reactor. The server stays listed until the reactor is closed. The supplier is
     * called on the reactor's thread.
     */
    public static void add(Reactor reactor, Supplier<Waiting> waiting) {
        synchronized (SERVERS) {
            SERVERS.removeIf(server -> server.reactor().isClosed());
            SERVERS.add(new Server(reactor, waiting));
        }
    }

    /**
     * Completes a future with the ranks for which a server waits. Catches every error, because an error must not break
     * down the server's reactor.
     */
    private static void answer(Server server, CompletableFuture<Waiting> answer) {
        try {
            answer.complete(server.waiting().get());
        } catch (Throwable e) {
            LOG.debug("a server of this process cannot say whom it waits for", e);
        }
    }

    /**
     * Returns the ranks and processes for which the servers of this process wait now. Leaves out a server that waits
     * for nothing or does not answer within {@code limitNanos}.
     */
    public static List<Waiting> now(long limitNanos) {
        long deadline = System.nanoTime() + limitNanos;
        List<CompletableFuture<Waiting>> answers = new ArrayList<>();
        synchronized (SERVERS) {
            SERVERS.removeIf(server -> server.reactor().isClosed());
            for (Server server : SERVERS) {
                CompletableFuture<Waiting> answer = new CompletableFuture<>();
                server.reactor().execute(() -> answer(server, answer));
                answers.add(answer);
            }
        }
        List<Waiting> all = new ArrayList<>();
        for (CompletableFuture<Waiting> answer : answers) {
            try {
                Waiting one = answer.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
                if (!one.isNothing()) {
                    all.add(one);
                }
            } catch (ExecutionException | TimeoutException e) {
                continue; // the server has ended, or its thread is stuck
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return all;
            }
        }
        return all;
    }
}
