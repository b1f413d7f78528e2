package io.jccl.integration;

import java.io.File;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A container that repeatedly loads {@link ReloadedApplication} with JCCL and all other classes, and prints what
 * remains of it. Arguments: the mode, the number of reloads.
 */
final class ReloadingMain {

    private static final long GONE_WITHIN_NANOS = 60_000_000_000L;
    private static final long STAY_NANOS = 10_000_000_000L;

    private ReloadingMain() {}

    public static void main(String[] arguments) throws Exception {
        String mode = arguments[0];
        int rounds = Integer.parseInt(arguments[1]);
        ThreadPoolExecutor threads = (ThreadPoolExecutor) Executors.newFixedThreadPool(2);
        threads.prestartAllCoreThreads(); // threads that an application starts would keep its class loader
        List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
        loaders.add(round(mode, threads)); // the JDK opens some descriptors once and keeps them
        Remains before = awaitNothing(loaders, -1);
        for (int i = 0; i < rounds; i++) {
            loaders.add(round(mode, threads));
            System.out.println(
                    "reloaded, threads=" + (mode.contains("open") ? Remains.ourThreads() : threadsThatStay()));
        }
        Remains after = awaitNothing(loaders, before.descriptors());
        System.out.println(after + " before=" + before.descriptors());
        System.exit(0); // runs the hooks, which must not fail, and ends threads of forgotten communicators
    }

    private static WeakReference<ClassLoader> round(String mode, Executor threads) throws Exception {
        URLClassLoader loader = open();
        run(loader, mode, threads);
        if (mode.contains("two")) {
            try (URLClassLoader second = open()) {
                run(second, mode, threads); // while the first loader exists
            }
        }
        if (mode.contains("shut")) {
            loader.close();
        }
        return new WeakReference<>(loader);
    }

    private static URLClassLoader open() throws IOException {
        List<URL> classPath = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            classPath.add(Path.of(entry).toUri().toURL());
        }
        return new URLClassLoader(classPath.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
    }

    private static void run(ClassLoader loader, String mode, Executor threads) throws ReflectiveOperationException {
        Thread.currentThread().setContextClassLoader(loader);
        try {
            loader.loadClass("io.jccl.integration.ReloadedApplication")
                    .getMethod("run", String.class, Executor.class)
                    .invoke(null, mode, threads);
        } finally {
            Thread.currentThread().setContextClassLoader(null);
        }
    }

    /** Returns the threads that remain. The coordinator ends a moment after it has heard that the last rank has closed. */
    private static List<String> threadsThatStay() throws InterruptedException {
        long deadline = System.nanoTime() + STAY_NANOS;
        List<String> threads = Remains.ourThreads();
        while (!threads.isEmpty() && System.nanoTime() - deadline < 0) {
            Thread.sleep(1);
            threads = Remains.ourThreads();
        }
        return threads;
    }

    /** Waits until nothing remains or the time is over, and returns what remains. */
    private static Remains awaitNothing(List<WeakReference<ClassLoader>> loaders, int descriptors) throws Exception {
        long deadline = System.nanoTime() + Long.getLong("jccl.test.gone.nanos", GONE_WITHIN_NANOS);
        while (true) {
            System.gc();
            Remains remains = Remains.now(loaders);
            if (remains.areNone(descriptors) || System.nanoTime() - deadline > 0) {
                return remains;
            }
            Thread.sleep(20); // the JVM unloads libraries on its own thread
        }
    }

    private record Remains(long loaders, List<String> threads, int descriptors, long mappings) {

        static Remains now(List<WeakReference<ClassLoader>> loaders) throws IOException {
            long left = loaders.stream().filter(one -> one.get() != null).count();
            try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"));
                    Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
                return new Remains(
                        left,
                        ourThreads(),
                        (int) open.count(),
                        maps.filter(map -> map.contains("jccl") && map.contains("r-xp"))
                                .count());
            }
        }

        static List<String> ourThreads() {
            return Thread.getAllStackTraces().keySet().stream()
                    .map(Thread::getName)
                    .filter(name -> name.startsWith("jccl-"))
                    .sorted()
                    .collect(Collectors.toList());
        }

        boolean areNone(int expectedDescriptors) {
            boolean few = expectedDescriptors < 0 || descriptors <= expectedDescriptors;
            return loaders == 0 && threads.isEmpty() && mappings == 0 && few;
        }

        @Override
        public String toString() {
            return "remains: loaders=" + loaders + " threads=" + threads + " mappings=" + mappings + " descriptors="
                    + descriptors;
        }
    }
}
