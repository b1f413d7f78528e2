package io.jccl.lightgbm;

import io.jccl.Communicator;
import io.jccl.UniqueId;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Ranks as threads of this process. */
final class ThreadRanks {

    /** What a rank does. */
    @FunctionalInterface
    interface Body<T> {
        T run(Communicator comm) throws Exception;
    }

    private ThreadRanks() {}

    /** Runs a body as each rank, and returns what they returned in rank order. */
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
