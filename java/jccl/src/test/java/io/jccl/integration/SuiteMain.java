package io.jccl.integration;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import java.io.File;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/**
 * Runs test classes without Maven, as other users and in other class loaders. {@code scripts/check-field} starts it.
 * Arguments: names of classes or {@code CLASS#METHOD}. {@code --in-child-loader} before them loads everything,
 * including JUnit, in a class loader whose parent is the platform's. The exit status is 0 if some tests ran and none
 * failed.
 */
public final class SuiteMain {

    private static final String IN_CHILD_LOADER = "--in-child-loader";

    private SuiteMain() {}

    /** Runs the classes and ends the process. */
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals(IN_CHILD_LOADER)) {
            inChildLoader(Arrays.copyOfRange(arguments, 1, arguments.length));
        } else {
            System.exit(run(arguments));
        }
    }

    private static void inChildLoader(String[] classes) throws Exception {
        List<URL> classPath = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            classPath.add(Path.of(entry).toUri().toURL());
        }
        ClassLoader loader = new URLClassLoader(classPath.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
        Thread.currentThread().setContextClassLoader(loader);
        loader.loadClass(SuiteMain.class.getName())
                .getMethod("main", String[].class)
                .invoke(null, (Object) classes);
    }

    private static int run(String[] classes) throws ClassNotFoundException {
        LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request();
        for (String name : classes) {
            select(name, request);
        }
        SummaryGeneratingListener summary = new SummaryGeneratingListener();
        LauncherFactory.create().execute(request.build(), summary, new ClassTimes());
        PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
        summary.getSummary().printFailuresTo(out, 60);
        long ran = summary.getSummary().getTestsSucceededCount();
        long failed = summary.getSummary().getTotalFailureCount();
        long skipped = summary.getSummary().getTestsSkippedCount()
                + summary.getSummary().getTestsAbortedCount();
        out.println("tests: passed=" + ran + " failed=" + failed + " skipped=" + skipped + " loader="
                + SuiteMain.class.getClassLoader().getClass().getSimpleName());
        return ran > 0 && failed == 0 ? 0 : 1;
    }

    private static void select(String name, LauncherDiscoveryRequestBuilder request) throws ClassNotFoundException {
        String[] parts = name.split("#");
        Class<?> type = Class.forName(parts[0]);
        if (parts.length == 1) {
            request.selectors(selectClass(type));
            return;
        }
        Method method = Stream.of(type.getDeclaredMethods())
                .filter(one -> one.getName().equals(parts[1]))
                .findAny()
                .orElseThrow(() -> new IllegalArgumentException("argument=" + name + ": there is no such method"));
        request.selectors(selectMethod(type, method));
    }

    /** Prints a line for each class, and for each test that was skipped on its own. */
    private static final class ClassTimes implements TestExecutionListener {

        private long startNanos;

        @Override
        public void executionStarted(TestIdentifier test) {
            if (isClass(test)) {
                startNanos = System.nanoTime();
            }
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            if (isClass(test)) {
                System.out.printf("%6.1f s  %s%n", (System.nanoTime() - startNanos) / 1e9, test.getDisplayName());
            } else if (result.getStatus() == TestExecutionResult.Status.ABORTED) {
                System.out.println("          skipped: " + test.getDisplayName() + ": "
                        + result.getThrowable().map(Throwable::getMessage).orElse(""));
            }
        }

        @Override
        public void executionSkipped(TestIdentifier test, String reason) {
            System.out.println("          skipped: " + test.getDisplayName() + ": " + reason);
        }

        private static boolean isClass(TestIdentifier test) {
            return test.getUniqueId().matches(".*\\[class:[^\\]]*\\]");
        }
    }
}
