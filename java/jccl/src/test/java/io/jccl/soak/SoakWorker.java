package io.jccl.soak;

import io.jccl.UniqueId;
import io.jccl.integration.Arena;
import io.jccl.testing.WorkerProcess;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * A process with one rank or with all ranks. Executes the commands on standard input, one a line:
 *
 * <pre>
 *   id                   prints a unique id, whose rendezvous server runs in this process
 *   epoch SEED ID        runs an epoch; prints "dying" if this process is to be killed, else "end COUNT" or "wrong WHY"
 *   gc                   collects garbage
 * </pre>
 */
final class SoakWorker {

    private final int size;
    private final int first;
    private final int count;
    private final List<Arena> arenas = new ArrayList<>();
    private final ExecutorService threads;

    private SoakWorker(int size, int first, int count) {
        this.size = size;
        this.first = first;
        this.count = count;
        this.threads = Executors.newFixedThreadPool(count);
        for (int i = 0; i < count; i++) {
            arenas.add(new Arena(Epoch.ARENA_BYTES));
        }
    }

    /** Arguments: the number of all ranks, the first rank of this process, and the number of its ranks. */
    public static void main(String[] arguments) throws Exception {
        SoakWorker worker = new SoakWorker(
                Integer.parseInt(arguments[0]), Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                worker.execute(line.split(" "));
            }
        }
        System.exit(0);
    }

    private void execute(String[] words) throws InterruptedException {
        switch (words[0]) {
            case "id" -> report("id " + UniqueId.create().toText());
            case "gc" -> {
                System.gc();
                report("collected garbage");
            }
            case "epoch" -> epoch(Long.parseLong(words[1]), UniqueId.parse(words[2]));
            default -> throw new IllegalArgumentException("command=" + words[0] + ": unknown");
        }
    }

    private void epoch(long seed, UniqueId id) throws InterruptedException {
        List<Future<Integer>> ranks = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Epoch epoch = new Epoch(seed, first + i, size, count == 1, arenas.get(i));
            ranks.add(threads.submit(() -> epoch.run(id, () -> {
                report("dying");
                Epoch.awaitKill();
            })));
        }
        int operations = 0;
        for (Future<Integer> rank : ranks) {
            try {
                operations += rank.get();
            } catch (ExecutionException e) {
                StringWriter trace = new StringWriter();
                e.getCause().printStackTrace(new PrintWriter(trace));
                report("wrong " + trace.toString().replace('\n', '|'));
                return;
            }
        }
        report("end " + operations);
    }

    private synchronized void report(String line) {
        System.out.println(WorkerProcess.REPORT + line);
        System.out.flush();
    }
}
