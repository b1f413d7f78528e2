package io.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Validates the JSON that the command prints against its schemas. */
@Timeout(180)
class SchemaTest {

    @TempDir
    Path directory;

    @ParameterizedTest
    @CsvSource({
        "perf, perf all_reduce -n 2 -e 64 --check --iters 5 --warmup 1 --json -",
        "perf, perf all_to_all_v -n 3 --threads -e 64 --check --iters 5 --warmup 1 --json -",
        "env, env --json",
        "doctor, doctor --json",
        "topo, topo -n 2 --json",
        "topo, topo -n 2 --machines 2 --json",
        "topo, topo -n 2 --machines 3 --json --rank 5"
    })
    void outputIsValidByItsSchema(String schemaName, String command) throws IOException, InterruptedException {
        boolean startsRanks = command.startsWith("perf") && !command.contains("--threads");
        CommandProcess.Result result = startsRanks
                ? CommandProcess.run(directory, command.split(" "))
                : CommandProcess.runHere(command.split(" "));
        assertThat(result.status()).as(result.err()).isZero();
        JsonSchema schema = JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                .getSchema(Files.readString(Path.of("../../docs/schema/" + schemaName + ".schema.json")));
        String[] values = schemaName.equals("perf") ? result.out().split("\n") : new String[] {result.out()};
        for (String value : values) {
            JsonNode json = new ObjectMapper().readTree(value);
            assertThat(schema.validate(json)).as(value).isEmpty();
            assertThat(json.findValuesAsText("version")).as(value).doesNotContain("unknown");
        }
    }
}
