package io.jccl.cli.topo.svg;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.output.Svg;
import io.jccl.cli.topo.Descriptions;
import io.jccl.cli.topo.Reports;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/**
 * Tests that the picture of the README is a part of the one that the command draws. {@code mvn -pl java/jccl-cli test
 * -Dtest=ReadmePictureTest -Djccl.update=true} updates the picture in the README.
 */
class ReadmePictureTest {

    private static final Path PICTURE = Path.of("../../docs/topology.svg");
    private static final Path HOST = Path.of("../jccl/src/test/resources/io/jccl/search/cube-mesh.xml");

    /** Distance from the baseline of a heading up to the panel above it. */
    private static final double ABOVE = 28;

    @Test
    void thePictureIsWhatTheCommandDraws() throws IOException {
        String drawn = rings(TopoSvg.write(Reports.of(Descriptions.read(HOST), 1), Optional.empty()));
        if (Boolean.getBoolean("jccl.update")) {
            Files.writeString(PICTURE, drawn);
        }
        assertThat(Files.readString(PICTURE).equals(drawn))
                .as(PICTURE
                        + " is what the command draws; if it is meant to change, write it again with"
                        + " -Djccl.update=true")
                .isTrue();
    }

    /** Returns a picture of the panel of the ring channels alone. */
    private static String rings(String svg) {
        int tree = heading(svg, "Tree channels");
        int ring = heading(svg, "Ring channels");
        double top = baseline(svg, ring) - ABOVE;
        String height = Svg.number(baseline(svg, tree) - ABOVE - top);
        String beginning = svg.substring(0, svg.indexOf("<text"))
                .replaceFirst(
                        "height=\"[^\"]+\" viewBox=\"0 0 (\\S+) [^\"]+\"",
                        "height=\"" + height + "\" viewBox=\"0 " + Svg.number(top) + " $1 " + height + "\"");
        return beginning.stripTrailing() + "\n" + svg.substring(ring, tree) + "</svg>\n";
    }

    private static int heading(String svg, String text) {
        return svg.lastIndexOf("<text", svg.indexOf(">" + text + "<"));
    }

    private static double baseline(String svg, int text) {
        int y = svg.indexOf(" y=\"", text) + 4;
        return Double.parseDouble(svg.substring(y, svg.indexOf('"', y)));
    }
}
