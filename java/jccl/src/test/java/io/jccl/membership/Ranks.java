package io.jccl.membership;

import io.jccl.UniqueId;
import io.jccl.rendezvous.BootstrapOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Runs ranks as threads of this JVM that are connected over loopback. */
final class Ranks {

    static final Duration SOON = Duration.ofSeconds(30);

    /** The code that each rank runs. */
    interface Body<T> {
        T run(Bootstrap rank) throws Exception;
    }

    private Ranks() {}

    /** True to run these tests with encryption: JCCL_ENCRYPTION=on mvn … -Dtest=… verify. */
    private static final boolean ENCRYPTED =
            Set.of("on", "required").contains(System.getenv().getOrDefault("JCCL_ENCRYPTION", "off"));

    static BootstrapOptions options() {
        return BootstrapOptions.defaults("test 1")
                .withInitTimeout(SOON)
                .withInterfaces("lo", "AF_INET")
                .withEncryption(ENCRYPTED);
    }

    /** The outcome of a call: either its value or the exception that it threw. */
    record Outcome<T>(T value, Throwable error) {}

    /** Runs every task on its own thread and waits for all tasks. */
    static <T> List<Outcome<T>> together(List<Callable<T>> tasks) throws InterruptedException {
        ExecutorService threads = Executors.newFixedThreadPool(tasks.size());
        try {
            return together(threads, tasks);
        } finally {
            threads.shutdownNow();
        }
    }

    /** Runs every task on its own thread of a pool, which must have enough threads, and waits for all tasks. */
    static <T> List<Outcome<T>> together(ExecutorService threads, List<Callable<T>> tasks) throws InterruptedException {
        List<Future<T>> futures = new ArrayList<>();
        tasks.forEach(task -> futures.add(threads.submit(task)));
        List<Outcome<T>> outcomes = new ArrayList<>();
        for (Future<T> future : futures) {
            try {
                outcomes.add(new Outcome<>(future.get(120, TimeUnit.SECONDS), null));
            } catch (ExecutionException e) {
                outcomes.add(new Outcome<>(null, e.getCause()));
            } catch (TimeoutException e) {
                outcomes.add(new Outcome<>(null, e));
            }
        }
        return outcomes;
    }

    static <T> List<T> values(List<Outcome<T>> outcomes) {
        List<T> values = new ArrayList<>();
        for (Outcome<T> outcome : outcomes) {
            if (outcome.error() != null) {
                throw new AssertionError("a rank failed: " + outcome.error(), outcome.error());
            }
            values.add(outcome.value());
        }
        return values;
    }

    static List<Bootstrap> join(int size, BootstrapOptions options) throws InterruptedException {
        UniqueId id = Bootstrap.createId(options);
        List<Callable<Bootstrap>> tasks = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            int mine = rank;
            tasks.add(() -> Bootstrap.join(id, mine, size, options));
        }
        return values(together(tasks));
    }

    static <T> List<T> onAll(List<Bootstrap> group, Body<T> body) throws InterruptedException {
        List<Callable<T>> tasks = new ArrayList<>();
        group.forEach(rank -> tasks.add(() -> body.run(rank)));
        return values(together(tasks));
    }

    static void close(List<Bootstrap> group) throws InterruptedException {
        onAll(group, rank -> {
            rank.close();
            return null;
        });
    }

    /** Joins a group, runs the body on every rank, and closes the group. */
    static <T> List<T> run(int size, Body<T> body) throws InterruptedException {
        List<Bootstrap> group = join(size, options());
        try {
            return onAll(group, body);
        } finally {
            close(group);
        }
    }
}
