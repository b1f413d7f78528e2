package io.jccl.cli.output;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;

/** Writes JSON with jackson's streaming half only, which starts several times faster than its object mapper. */
public final class Json {

    private static final JsonFactory FACTORY = new JsonFactory();

    /** Writes one value. */
    @FunctionalInterface
    public interface Body {
        /** Writes the value to the generator. */
        void write(JsonGenerator json) throws IOException;
    }

    private Json() {}

    /** One value on one line, without the line's end. */
    public static String line(Body body) {
        return write(body, false);
    }

    /** One value over several indented lines. */
    public static String pretty(Body body) {
        return write(body, true);
    }

    /** A number field rounded to four decimals, or null if there is no number. */
    public static void number(JsonGenerator json, String name, Double value) throws IOException {
        if (value == null || !Double.isFinite(value)) {
            json.writeNullField(name);
        } else {
            json.writeNumberField(name, Math.rint(value * 1e4) / 1e4);
        }
    }

    private static String write(Body body, boolean pretty) {
        StringWriter out = new StringWriter();
        try (JsonGenerator json = FACTORY.createGenerator(out)) {
            if (pretty) {
                json.setPrettyPrinter(new DefaultPrettyPrinter());
            }
            body.write(json);
        } catch (IOException e) {
            throw new UncheckedIOException("writing JSON to memory failed", e);
        }
        return out.toString();
    }
}
