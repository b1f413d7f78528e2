package io.jccl.cli.soak;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class SoakPlotTest {

    private static final List<String> SAMPLES = List.of(
            "process,seconds,resident_kib,native_kib,shared_kib,descriptors,threads",
            "rank 0,60,102400,51200,1024,20,10",
            "four threads,60,204800,51200,1024,40,20",
            "rank 0,600,102400,51200,1024,20,10",
            "four threads,600,204800,51200,1024,40,30");

    @Test
    void eachQuantityHasACurveForEachProcess() {
        String picture = SoakPlot.draw(SAMPLES);
        assertThat(picture).contains("Soak of 10 minutes");
        assertThat(picture.split("data-process=\"rank 0\"")).hasSize(6);
        assertThat(picture.split("data-process=\"four threads\"")).hasSize(6);
        for (String title : List.of("Resident memory (MiB)", "Shared memory (MiB)", "Descriptors", "Threads")) {
            assertThat(picture).contains(">" + title + "<");
        }
    }

    @Test
    void aFlatCurveIsLevelAndOneThatGrowsRises() {
        String[] descriptors = points(SoakPlot.draw(SAMPLES), "four threads", 3);
        String[] threads = points(SoakPlot.draw(SAMPLES), "four threads", 4);
        assertThat(y(descriptors[0])).isEqualTo(y(descriptors[1]));
        assertThat(y(threads[0])).isGreaterThan(y(threads[1])); // y grows downwards
    }

    private static String[] points(String picture, String process, int panel) {
        String begin = "data-process=\"" + process + "\" points=\"";
        String rest = picture.split(begin, -1)[panel + 1];
        return rest.substring(0, rest.indexOf('"')).split(" ");
    }

    private static double y(String point) {
        return Double.parseDouble(point.split(",")[1]);
    }
}
