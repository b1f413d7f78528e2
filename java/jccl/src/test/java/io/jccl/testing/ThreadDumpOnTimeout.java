package io.jccl.testing;

import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.PreInterruptCallback;
import org.junit.jupiter.api.extension.PreInterruptContext;

/**
 * Prints the stacks of all threads when a test times out, before the test's thread is interrupted. Registered for all
 * tests through {@code META-INF/services}; the text is in the output file of the test class.
 */
public final class ThreadDumpOnTimeout implements PreInterruptCallback {

    @Override
    public void beforeThreadInterrupt(PreInterruptContext interrupted, ExtensionContext test) {
        System.err.println(
                dump(test.getUniqueId(), interrupted.getThreadToInterrupt().getName(), Thread.getAllStackTraces()));
    }

    /** Returns the text for a test, the name of the thread that runs it, and the stacks of all threads. */
    static String dump(String test, String testThread, Map<Thread, StackTraceElement[]> threads) {
        return "time-out of " + test + " in thread \"" + testThread + "\"; all threads:\n"
                + threads.entrySet().stream()
                        .sorted(Comparator.comparing(entry -> entry.getKey().getName()))
                        .map(entry -> describe(entry.getKey(), entry.getValue()))
                        .collect(Collectors.joining("\n"));
    }

    private static String describe(Thread thread, StackTraceElement[] stack) {
        return "\"" + thread.getName() + "\" " + thread.getState()
                + Arrays.stream(stack).map(frame -> "\n    at " + frame).collect(Collectors.joining());
    }
}
