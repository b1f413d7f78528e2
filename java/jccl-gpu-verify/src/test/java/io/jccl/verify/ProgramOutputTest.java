package io.jccl.verify;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Tests how the output of foreign programs is read. */
class ProgramOutputTest {

    @Test
    void rowsOfNcclTestsAreReadAndOtherLinesAreNot() {
        String output =
                """
                # nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 16(factor) warmup iters: 5
                #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
                #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
                           8             2     float     sum      -1     6.21    0.00    0.00      0     6.23    0.00    0.00      0
                   134217728      33554432     float     sum      -1   812.50  165.19  165.19    N/A   811.90  165.31  165.31      0
                # Avg bus bandwidth    : 82.6
                """;
        assertThat(NcclTests.read("all_reduce", 2, output))
                .containsExactly(
                        new Report.Measurement(
                                "all_reduce", 2, 1, "stream", 8, "nccl", "nccl", 0, 6.21, null, 0, 0, null, 0L, 0),
                        new Report.Measurement(
                                "all_reduce",
                                2,
                                1,
                                "stream",
                                134217728,
                                "nccl",
                                "nccl",
                                0,
                                812.5,
                                null,
                                165.19,
                                165.19,
                                null,
                                null,
                                0));
    }

    @Test
    void countsOfTestsAreReadFromJunitsSummary() {
        String output =
                """
                [        41 tests found           ]
                [         3 tests skipped         ]
                [        38 tests started         ]
                [         1 tests aborted         ]
                [        35 tests successful      ]
                [         2 tests failed          ]
                """;
        assertThat(JunitTests.counted(output)).isEqualTo(new Report.Tests(35, 2, 4));
    }

    @Test
    void reasonOfFailedTestsHasTheirNumberAndTheFirstFailure() {
        String output =
                """
                \u2514\u2500 JUnit Jupiter \u2714
                   \u251c\u2500 LaunchTest \u2714
                   \u2502  \u251c\u2500 everyRankLaunches() \u2718
                   \u2514\u2500 GraphsTest \u2718 no GPU

                Failures (2):
                  JUnit Jupiter:LaunchTest:everyRankLaunches()
                    MethodSource [className = 'io.jccl.LaunchTest', methodName = 'everyRankLaunches', methodParameterTypes = '']
                    => java.lang.AssertionError:
                Expecting actual:
                  "abc"
                to contain:
                  "x"

                       io.jccl.LaunchTest.everyRankLaunches(LaunchTest.java:7)
                       [...]
                  JUnit Jupiter:GraphsTest
                    ClassSource [className = 'io.jccl.GraphsTest', filePosition = null]
                    => java.lang.IllegalStateException: no GPU
                       io.jccl.GraphsTest.setUp(GraphsTest.java:3)

                Test run finished after 542 ms
                [         9 tests found           ]
                [         1 tests failed          ]

                22:40:33.121 WARN  Watchdog: a communicator was not closed
                """;
        assertThat(JunitTests.reason(new ChildProcess.Result(1, output)))
                .isEqualTo("tests=9 failures=2, the first: LaunchTest:everyRankLaunches(): java.lang.AssertionError:"
                        + " Expecting actual: \"abc\" to contain: \"x\"");
    }

    @Test
    void reasonSaysThatJunitFoundNoTests() {
        String output =
                """
                Test run finished after 28 ms
                [         0 tests found           ]
                [         0 tests failed          ]
                """;
        assertThat(JunitTests.reason(new ChildProcess.Result(2, output))).isEqualTo("JUnit found no tests");
    }

    @Test
    void reasonOfACrashIsItsSignalAndTheNativeFrame() {
        String output =
                """
                begun
                #
                # A fatal error has been detected by the Java Runtime Environment:
                #
                #  SIGSEGV (0xb) at pc=0x00007fca0c244f14, pid=12132, tid=12132
                #
                # JRE version: OpenJDK Runtime Environment (17.0.21+9) (build 17.0.21+9)
                # Problematic frame:
                # C  [libjccl_cuda.so+0x85f14]
                #
                # If you would like to submit a bug report, please visit:
                #   https://bugreport.java.com/bugreport/crash.jsp
                #
                """;
        assertThat(JunitTests.reason(new ChildProcess.Result(134, output)))
                .isEqualTo("the JVM crashed: SIGSEGV (0xb) at pc=0x00007fca0c244f14, pid=12132, tid=12132"
                        + " in C  [libjccl_cuda.so+0x85f14]");
    }

    @Test
    void reasonOfAnExceptionIsItsCauseWithoutTheStackTrace() {
        String output =
                """
                Exception in thread "main" java.lang.IllegalStateException: no class
                \tat io.jccl.Launch.main(Launch.java:7)
                Caused by: java.lang.ClassNotFoundException: io.jccl.Missing
                \tat java.base/java.lang.ClassLoader.loadClass(ClassLoader.java:525)
                \t... 31 more

                """;
        assertThat(new ChildProcess.Result(1, output).reason())
                .isEqualTo("Caused by: java.lang.ClassNotFoundException: io.jccl.Missing");
    }
}
