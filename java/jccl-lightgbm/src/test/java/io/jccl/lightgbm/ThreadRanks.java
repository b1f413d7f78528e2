package io.jccl.lightgbm;

import io.jccl.Communicator;
import io.jccl.UniqueId;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Runs ranks as threads of this process. */
final class ThreadRanks {

    /** The code that a rank runs. */
    @FunctionalInterface
    interface Body<T> {
        T run(Communicator comm) throws Exception;
    }

    private ThreadRanks() {}

    /** Runs {@code body} as each rank, and returns the results in the order of ranks. */
    static <T> List<T> run(int size, Body<T> body) throws Exception {
        UniqueId id = UniqueId.create();
        ExecutorService threads = Executors.newFixedThreadPool(size);
        try {
            List<Future<T>> futures = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                int rank = i;
                futures.add(threads.submit(() -> {
                    try (Communicator comm = Communicator.init(id, rank, size)) {
                        return body.run(comm);
                    }
                }));
            }
            List<T> results = new ArrayList<>();
            for (Future<T> future : futures) {
                results.add(future.get(60, TimeUnit.SECONDS));
            }
            return results;
        } finally {
            threads.shutdownNow();
        }
    }
}
